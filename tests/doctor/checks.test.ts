import { checkClock, checkDatabaseClock } from 'instep/src/doctor/clock.ts';
import {
  checkDurability,
  checkEncoding,
  checkSpace,
  checkVersion,
} from 'instep/src/doctor/database-server.ts';
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

test.each([
  [100e6, 'failure'],
  [900e6, 'warning'],
  [2e9, 'ok'],
  [null, 'ok'],
])('%s bytes free: %s', (freeBytes, state) =>
  expect(checkSpace(8e6, freeBytes)).toMatchObject({ state }),
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

  describe('of the database', () => {
    const reading = (aheadMs: number, tookMs = 100) => ({
      sentAtMs: began,
      receivedAtMs: began + tookMs,
      answeredAtMs: began + aheadMs,
    });

    test.each([
      [0, 0, 'ok', "agrees with ours and Stripe's"],
      [8_000, 0, 'warning', "8 s ahead of ours, 8 s ahead of Stripe's"],
      [8_000, null, 'warning', '8 s ahead of ours'],
      [-600_000, 0, 'warning', "10 min behind ours, 10 min behind Stripe's"],
      [0, 60_000, 'warning', "agrees with ours, 60 s behind Stripe's"],
    ])(
      '%d ms ahead of ours, with Stripe’s %s ms ahead, is %s',
      (aheadMs, stripeMs, state, result) => {
        const stripe = stripeMs === null ? null : reading(stripeMs);
        const check = checkDatabaseClock(reading(aheadMs), stripe);
        expect(check).toMatchObject({ state, result: expect.stringContaining(result) });
      },
    );
  });

  test('is not blamed for the duration of a slow call', () => {
    expect(at(began + 9_000, 10_000)).toMatchObject({ state: 'ok' });
  });
});
