import { createTokenCheck } from 'instep/src/operations/console/access/token-check.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { expect, test } from 'vitest';

const TOKEN = 'the token of 32 characters or more';

/** A check whose clock and delays the test controls. */
function check() {
  const clock = { nowMs: 1_000_000 };
  const waits: number[] = [];
  const ends: (() => void)[] = [];
  const lines: string[] = [];
  const isToken = createTokenCheck({
    token: TOKEN,
    clockMs: () => clock.nowMs,
    wait: (delayMs) => {
      waits.push(delayMs);
      return new Promise((resolve) => ends.push(resolve));
    },
    logger: createLogger('info', { write: (line) => lines.push(line) }),
  });
  const endWaits = () => {
    for (const end of ends.splice(0)) end();
  };
  return { isToken, clock, waits, endWaits, lines };
}

test('the right token never waits, not even after wrong ones', async () => {
  const { isToken, waits } = check();
  void isToken('wrong');
  void isToken('wrong');
  expect(await isToken(TOKEN)).toBe(true);
  expect(waits).toHaveLength(2);
});

test('each wrong token waits twice as long, up to 4 seconds', async () => {
  const { isToken, waits, endWaits } = check();
  for (let time = 0; time < 8; time += 1) {
    const answer = isToken(`wrong ${time}`);
    endWaits();
    expect(await answer).toBe(false);
  }
  expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000, 4_000, 4_000]);
});

test('the delay starts over after a minute without a wrong token', () => {
  const { isToken, waits, clock } = check();
  void isToken('wrong');
  clock.nowMs += 60_000;
  void isToken('wrong');
  clock.nowMs += 60_001;
  void isToken('wrong');
  expect(waits).toEqual([250, 500, 250]);
});

test('at most 20 wrong tokens wait; more are rejected, but never the right one', async () => {
  const { isToken, waits, endWaits } = check();
  const answers = Array.from({ length: 20 }, () => isToken('wrong'));
  await expect(isToken('wrong')).rejects.toMatchObject({ status: 429 });
  expect(await isToken(TOKEN)).toBe(true);
  endWaits();
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 20 }, () => false));
  void isToken('wrong');
  expect(waits).toHaveLength(21);
});

test.each(['', 'the token', `${TOKEN} `, TOKEN.toUpperCase(), '\0'.repeat(34), 'é'.repeat(10_000)])(
  '%j is not the token',
  async (text) => {
    const { isToken, endWaits } = check();
    const answer = isToken(text);
    endWaits();
    expect(await answer).toBe(false);
  },
);

test('many wrong tokens make few log lines, which do not contain them', () => {
  const { isToken, lines } = check();
  for (let time = 0; time < 20; time += 1) void isToken('what was tried');
  expect(lines).toHaveLength(10);
  expect(lines.join()).not.toContain('what was tried');
});
