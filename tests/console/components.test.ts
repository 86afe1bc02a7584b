import { Badge, StatusBadge } from 'instep-console/src/components/badges.tsx';
import { Field } from 'instep-console/src/components/form.tsx';
import { TextAt, Time, UntrustedText } from 'instep-console/src/components/text.tsx';
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

test('a time is in UTC, with the exact time in the tooltip', () => {
  const html = String(Time({ ms: Date.UTC(2026, 1, 3, 4, 5, 6, 789) }));
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
])('the status %j has the tone %s and is named', (status, tone) => {
  const html = String(StatusBadge({ status }));
  expect(html).toContain(`class="badge ${tone}"`);
  expect(html).toContain(status === null ? 'no subscription' : status.replace(SCRIPT, ESCAPED));
});

test.each([
  [0, 'x="-0.1%" width="0.2%" height="100%"'],
  [0.15, 'x="0%" width="30%" height="100%"'],
  [0.5, 'x="0%" width="100%" height="100%"'],
  [0.85, 'x="70%" width="30%" height="100%" class="from-end"'],
])(
  'a label at %f of a drawing is in the middle of its box, and begins at the edge',
  (share, box) => {
    expect(String(TextAt({ share, children: 'Wed 12:00 AM' }))).toBe(
      `<foreignObject ${box}><span>Wed 12:00 AM</span></foreignObject>`,
    );
  },
);

test('a badge contains its word', () => {
  expect(String(Badge({ tone: 'good', children: 'fine' }))).toBe(
    '<span class="badge good">fine</span>',
  );
});
