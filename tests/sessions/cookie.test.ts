import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sessionToken } from '../support/internals/sessions.ts';

const OTHERS = Array.from({ length: 300 }, (_, index) => `other_${index}=value`).join('; ');

test.each([
  ['session=a.b.c', 'a.b.c'],
  ['theme=dark; session=a.b.c; lang=en', 'a.b.c'],
  ['theme=dark;session=a.b.c', 'a.b.c'],
  [`${OTHERS}; session=a.b.c`, 'a.b.c'],
  ['session=a.b.c; session=d.e.f', 'a.b.c'],
])('finds the first token: %.40s', (header, token) => {
  expect(sessionToken(header)).toBe(token);
});

test.each([
  null,
  '',
  ';;=;',
  'session',
  'session=',
  'session=a.b',
  'session="a.b.c"',
  'session=%61.b.c',
  'session=%E0%A4%A',
  'session=a.b.c.d',
  'session=a.b.c d',
  'xsession=a.b.c',
  'Session=a.b.c',
  'session=bad; session=a.b.c',
  `session=${'a'.repeat(5_000)}.b.c`,
])('finds no token: %.40s', (header) => {
  expect(sessionToken(header)).toBeNull();
});

test('no header throws', () => {
  fc.assert(fc.property(fc.string(), (header) => sessionToken(header) !== undefined));
});
