import { createLogger } from 'instep';
import { expect, test } from 'vitest';
import { createTokenCheck } from '../support/internals/operations.ts';

const TOKEN = 'the token of 32 characters or more';
const ADA = { name: 'ada', role: 'operator', token: TOKEN } as const;
const GRACE = { name: 'grace', role: 'viewer', token: `another ${TOKEN}` } as const;

const lines: string[] = [];
const logger = createLogger('info', { write: (line) => lines.push(line) });
const checkToken = createTokenCheck([ADA, GRACE], logger);

test('each person has a token, and no other text is one', () => {
  expect(checkToken(TOKEN)).toEqual({ name: 'ada', role: 'operator' });
  expect(checkToken(GRACE.token)).toEqual({ name: 'grace', role: 'viewer' });
  const others = [
    '',
    'the token',
    `${TOKEN} `,
    TOKEN.toUpperCase(),
    '\0'.repeat(34),
    'é'.repeat(10_000),
  ];
  for (const other of others) expect(checkToken(other)).toBeNull();
});

test('many wrong tokens make few log lines, which do not contain them', () => {
  lines.length = 0;
  for (let time = 0; time < 50; time += 1) checkToken('what was tried');
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(20);
  expect(lines.join()).not.toContain('what was tried');
});
