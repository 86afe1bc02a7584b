/** The fields of the form on a page that has this button, as a browser sends them when it is pressed. */
export function fieldsOf(html: string, name: string, value: string): [string, string][] {
  const button = `<button type="submit" class="button quiet" name="${name}" value="${value}">`;
  const [form] = (html.match(/<form method="post".*?<\/form>/gs) ?? []).filter((one) =>
    one.includes(button),
  );
  if (form === undefined) throw new Error(`no form has the button ${value}`);
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  const fields = inputs.map(([, field = '', text = '']): [string, string] => [field, text]);
  return [...fields.filter(([field]) => field !== 'csrf'), [name, value]];
}
