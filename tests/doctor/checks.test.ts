import { checkClock } from 'instep/src/doctor/clock.ts';
import { checkDurability, checkEncoding, checkVersion } from 'instep/src/doctor/database-server.ts';
import { describe, expect, test } from 'vitest';

test.each([
  [130_022, 'failure'],
  [140_000, 'ok'],
  [180_004, 'ok'],
])('PostgreSQL %d: %s', (versionNumber, state) =>
  expect(checkVersion({ versionNumber, version: 'x' })).toMatchObject({ state }),
);

test.each([
  ['off', 'warning'],
  ['on', 'ok'],
])('fsync %s: %s', (fsync, state) => expect(checkDurability({ fsync })).toMatchObject({ state }));

test.each([
  ['UTF8', []],
  ['LATIN1', [{ state: 'warning' }]],
  ['SQL_ASCII', [{ state: 'warning' }]],
])('the encoding %s: %j', (encoding, checks) =>
  expect(checkEncoding({ encoding })).toMatchObject(checks),
);

describe('the clock', () => {
  const began = 1_700_000_000_000;
  const at = (answeredAtMs: number, tookMs = 100) =>
    checkClock({ sentAtMs: began, receivedAtMs: began + tookMs, answeredAtMs });

  test.each([
    [0, 'ok', /^agrees with Stripe's$/],
    [-20_000, 'warning', /^20 s ahead of Stripe's$/],
    [20_100, 'warning', /^20 s behind Stripe's$/],
    [-600_000, 'failure', /^10 min ahead of .*refused/],
    [600_000, 'failure', /^10 min behind .*refused/],
  ])('%d ms behind Stripe’s is %s', (aheadMs, state, result) =>
    expect(at(began + aheadMs)).toMatchObject({ state, result: expect.stringMatching(result) }),
  );

  test('is not blamed for the duration of a slow call', () => {
    expect(at(began + 9_000, 10_000)).toMatchObject({ state: 'ok' });
  });
});
