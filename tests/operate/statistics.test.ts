import type { StatisticsRow } from 'instep/src/maintenance/statistics.ts';
import { DELAY_BOUNDS_SECONDS, NO_DELAY } from 'instep/src/maintenance/statistics.ts';
import { slotsOf } from 'instep/src/operate/statistics.ts';
import { rangeOf } from 'instep-console/src/overview/range.ts';
import { describe, expect, test } from 'vitest';

const NOW_MS = Date.UTC(2026, 0, 1, 12, 34, 56);
const MINUTE_MS = Date.UTC(2026, 0, 1, 12, 34);

const figure = (delayBucket: number, count: number, startsAtMs = MINUTE_MS): StatisticsRow => ({
  startsAtMs,
  outcome: 'applied',
  delayBucket,
  count,
});

const lastOf = (figures: readonly StatisticsRow[]) =>
  slotsOf(figures, rangeOf('hour'), NOW_MS).at(-1);

test.each(['hour', 'day', 'week'])(
  'a %s has all its slots, and the last one contains the current time',
  (name) => {
    const range = rangeOf(name);
    const slots = slotsOf([], range, NOW_MS);
    expect(slots).toHaveLength(range.slots);
    const last = slots.at(-1)?.startsAtMs ?? 0;
    expect(last).toBeLessThanOrEqual(NOW_MS);
    expect(last + range.slotSeconds * 1_000).toBeGreaterThan(NOW_MS);
    expect(range.slots * range.slotSeconds).toBe({ hour: 3_600, day: 86_400, week: 604_800 }[name]);
  },
);

test('outcomes are counted over all delays, without events outside of the range', () => {
  const figures = [figure(3, 2), figure(5, 1), figure(NO_DELAY, 4), figure(3, 8, MINUTE_MS - 1e7)];
  const slots = slotsOf(figures, rangeOf('hour'), NOW_MS);
  expect(slots.at(-1)?.counts.applied).toBe(7);
  expect(slots.slice(0, -1).every(({ counts }) => counts.applied === 0)).toBe(true);
});

describe('percentiles', () => {
  test('are upper bounds for their share of the events', () => {
    const slot = lastOf([figure(10, 1), figure(0, 50), figure(4, 49)]);
    expect(slot?.p50Seconds).toBe(DELAY_BOUNDS_SECONDS[0]);
    expect(slot?.p99Seconds).toBe(DELAY_BOUNDS_SECONDS[4]);
    expect(lastOf([figure(10, 2), figure(0, 98)])?.p99Seconds).toBe(DELAY_BOUNDS_SECONDS[10]);
  });

  test('ignore events without a delay', () => {
    expect(lastOf([figure(NO_DELAY, 9)])).toMatchObject({ p50Seconds: null, p99Seconds: null });
    expect(lastOf([figure(NO_DELAY, 99), figure(2, 1)])?.p50Seconds).toBe(DELAY_BOUNDS_SECONDS[2]);
  });
});
