type Field = [name: string, value: string];

/** The fields of the form on a page that has this button, as a browser sends them when it is pressed. */
export function fieldsOf(html: string, name: string, value: string): Field[] {
  const button = `<button type="submit" class="button quiet" name="${name}" value="${value}">`;
  return [...hiddenFieldsOf(html, button), [name, value]];
}

/** The hidden fields of the form on a page that is sent to this path. */
export function fieldsTo(html: string, path: string): Field[] {
  return hiddenFieldsOf(html, `action="${path}"`);
}

function hiddenFieldsOf(html: string, part: string): Field[] {
  const forms = html.match(/<form method="post".*?<\/form>/gs) ?? [];
  const form = forms.find((one) => one.includes(part));
  if (form === undefined) throw new Error(`no form has ${part}`);
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  const fields = inputs.map(([, field = '', text = '']): Field => [field, text]);
  return fields.filter(([field]) => field !== 'csrf');
}
