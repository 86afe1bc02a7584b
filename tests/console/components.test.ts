import { Field } from 'instep-console/src/components/form.tsx';
import { UntrustedText } from 'instep-console/src/components/text.tsx';
import { describe, expect, test } from 'vitest';

const SCRIPT = '<script>alert(1)</script>';
const ESCAPED = '&lt;script&gt;alert(1)&lt;/script&gt;';

describe('untrusted text', () => {
  test('is escaped, and its writing direction ends with it', () => {
    expect(String(UntrustedText({ text: SCRIPT }))).toBe(`<bdi>${ESCAPED}</bdi>`);
    expect(String(UntrustedText({ text: '\u202Eevil' }))).toBe('<bdi>\u202Eevil</bdi>');
  });

  test('is cut between characters when it is too long, and is complete in the tooltip', () => {
    const text = `"${'🙂'.repeat(10_000)}`;
    const html = String(UntrustedText({ text, maxLength: 3 }));
    expect(html).toMatch(/^<bdi title="&quot;🙂+/u);
    expect(html).toMatch(/>"?(?:&quot;)?🙂🙂…<\/bdi>$/u);
    expect(html.length).toBeLessThan(2_100);
  });

  test('stays whole at exactly the maximum length', () => {
    expect(String(UntrustedText({ text: '🙂🙂🙂', maxLength: 3 }))).toBe('<bdi>🙂🙂🙂</bdi>');
  });
});

test('a field escapes its value, label, hint and error', () => {
  const html = String(Field({ label: SCRIPT, name: 'q', value: '"><script>', error: SCRIPT }));
  expect(html).not.toContain('<script');
  expect(html).toContain('value="&quot;&gt;&lt;script&gt;"');
  expect(html).toContain('aria-invalid="true"');
  expect(html).toContain('aria-describedby="field-q-error"');
});
