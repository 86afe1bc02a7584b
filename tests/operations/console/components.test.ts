import { describe, expect, test } from 'vitest';
import { Badge } from '../../../src/operations/console/components/badge.tsx';
import { Field } from '../../../src/operations/console/components/field.tsx';
import { Moment } from '../../../src/operations/console/components/moment.tsx';
import { StatusBadge } from '../../../src/operations/console/components/status-badge.tsx';
import { UntrustedText } from '../../../src/operations/console/components/untrusted-text.tsx';

const SCRIPT = '<script>alert(1)</script>';
const ESCAPED = '&lt;script&gt;alert(1)&lt;/script&gt;';

describe('a text from elsewhere', () => {
  test('is text, and its direction ends with it', () => {
    expect(String(UntrustedText({ text: SCRIPT }))).toBe(`<bdi>${ESCAPED}</bdi>`);
    expect(String(UntrustedText({ text: '\u202Eevil' }))).toBe('<bdi>\u202Eevil</bdi>');
  });

  test('is cut where it is too long, between characters, and told whole on demand', () => {
    const text = `"${'🙂'.repeat(10_000)}`;
    const html = String(UntrustedText({ text, maxLength: 3 }));
    expect(html).toMatch(/^<bdi title="&quot;🙂+/u);
    expect(html).toMatch(/>"?(?:&quot;)?🙂🙂…<\/bdi>$/u);
    expect(html.length).toBeLessThan(2_100);
  });

  test('of just so many characters stays whole', () => {
    expect(String(UntrustedText({ text: '🙂🙂🙂', maxLength: 3 }))).toBe('<bdi>🙂🙂🙂</bdi>');
  });
});

test('whatever stands in an attribute stays in it', () => {
  const html = String(Field({ label: SCRIPT, name: 'q', value: '"><script>', error: SCRIPT }));
  expect(html).not.toContain('<script');
  expect(html).toContain('value="&quot;&gt;&lt;script&gt;"');
  expect(html).toContain('aria-invalid="true"');
  expect(html).toContain('aria-describedby="field-q-error"');
});

test('a time is exact for whoever asks, and in UTC where no script runs', () => {
  const html = String(Moment({ at: new Date('2026-02-03T04:05:06.789Z') }));
  expect(html).toBe(
    '<time datetime="2026-02-03T04:05:06.789Z" title="2026-02-03 04:05:06.789 UTC">' +
      '2026-02-03 04:05:06 UTC</time>',
  );
});

test.each([
  ['active', 'good'],
  ['trialing', 'good'],
  ['canceled', 'quiet'],
  ['past_due', 'warning'],
  [SCRIPT, 'warning'],
  [null, 'quiet'],
])('the status %j is %s, and says so in words', (status, tone) => {
  const html = String(StatusBadge({ status }));
  expect(html).toContain(`class="badge ${tone}"`);
  expect(html).toContain(status === null ? 'no subscription' : status.replace(SCRIPT, ESCAPED));
});

test('a badge is a word', () => {
  expect(String(Badge({ tone: 'good', children: 'fine' }))).toBe(
    '<span class="badge good">fine</span>',
  );
});
