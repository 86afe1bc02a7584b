import { createLogger } from 'instep';
import { expect, test } from 'vitest';
import { createTokenCheck } from '../support/internals/operations.ts';

const TOKEN = 'the token of 32 characters or more';
const ADA = { name: 'ada', role: 'operator', token: TOKEN } as const;
const GRACE = { name: 'grace', role: 'viewer', token: `another ${TOKEN}` } as const;

/** A check whose delays the test controls. */
function check() {
  const waits: number[] = [];
  const ends: (() => void)[] = [];
  const lines: string[] = [];
  const checkToken = createTokenCheck({
    tokens: [ADA, GRACE],
    wait: (delayMs) => {
      waits.push(delayMs);
      return new Promise((resolve) => ends.push(resolve));
    },
    logger: createLogger('info', { write: (line) => lines.push(line) }),
  });
  const endWaits = () => {
    for (const end of ends.splice(0)) end();
  };
  return { checkToken, waits, endWaits, lines };
}

test('the right token never waits, not even after wrong ones', async () => {
  const { checkToken, waits } = check();
  void checkToken('wrong');
  void checkToken('wrong');
  expect(await checkToken(TOKEN)).toEqual({ name: 'ada', role: 'operator' });
  expect(waits).toEqual([1_000, 1_000]);
});

test('each person has a token', async () => {
  const { checkToken, endWaits } = check();
  expect(await checkToken(GRACE.token)).toEqual({ name: 'grace', role: 'viewer' });
  const neither = checkToken(`another another ${TOKEN}`);
  endWaits();
  expect(await neither).toBe('wrong');
});

test('at most 20 wrong tokens wait; more are rejected, but never the right one', async () => {
  const { checkToken, waits, endWaits } = check();
  const answers = Array.from({ length: 20 }, () => checkToken('wrong'));
  expect(await checkToken('wrong')).toBe('too many');
  expect(await checkToken(TOKEN)).toEqual({ name: 'ada', role: 'operator' });
  endWaits();
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 20 }, () => 'wrong'));
  void checkToken('wrong');
  expect(waits).toHaveLength(21);
});

test.each(['', 'the token', `${TOKEN} `, TOKEN.toUpperCase(), '\0'.repeat(34), 'é'.repeat(10_000)])(
  '%j is not the token',
  async (text) => {
    const { checkToken, endWaits } = check();
    const answer = checkToken(text);
    endWaits();
    expect(await answer).toBe('wrong');
  },
);

test('many wrong tokens make few log lines, which do not contain them', () => {
  const { checkToken, lines } = check();
  for (let time = 0; time < 20; time += 1) void checkToken('what was tried');
  expect(lines).toHaveLength(10);
  expect(lines.join()).not.toContain('what was tried');
});
