type Field = [name: string, value: string];

/** The fields of the form on a page that has a button with this value, as a browser sends them when it is pressed. */
export function fieldsOf(html: string, value: string): Field[] {
  const forms = html.match(/<form method="post".*?<\/form>/gs) ?? [];
  const button = new RegExp(`<button [^>]*name="([^"]*)" value="${value}"`);
  const form = forms.find((one) => button.test(one)) ?? '';
  const [, name] = button.exec(form) ?? [];
  if (name === undefined) throw new Error(`no form has the button ${value}`);
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  const fields = inputs.map(([, field = '', text = '']): Field => [field, text]);
  return [...fields, [name, value]];
}
