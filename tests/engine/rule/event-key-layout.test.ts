import {
  FIRST_DATED_KEY,
  formatEventKey,
  tieGroupRangeOf,
  tieGroupRanges,
} from 'instep-engine/rule';
import { expect, test } from 'vitest';

const PARTS = {
  createdSeconds: 0x65_53_f1_00,
  subscriptionHash: '0123456789abcdef',
  contentHash: 'fedcba98765432100000',
};

test('a key contains the time, the subscription and the content', () => {
  expect(formatEventKey(PARTS)).toBe('6553f100-0123-4567-fedc-ba9876543210');
  expect(formatEventKey({ ...PARTS, createdSeconds: 1 })).toMatch(/^00000001-0123-/);
  expect(formatEventKey({ ...PARTS, createdSeconds: 2 ** 32 + 1 })).toMatch(/^00000001-0123-/);
});

test.each([0, 2 ** 32, 2 ** 33])('an event with the time %d has a second', (createdSeconds) => {
  const key = formatEventKey({ ...PARTS, createdSeconds });
  expect(key >= FIRST_DATED_KEY).toBe(true);
  expect(tieGroupRangeOf(key).low < tieGroupRangeOf(key).high).toBe(true);
});

test('the key of an event without a time is below every dated key', () => {
  const undated = formatEventKey({ ...PARTS, createdSeconds: null });
  expect(undated).toMatch(/^00000000-0123-/);
  expect(undated < FIRST_DATED_KEY).toBe(true);
  expect(formatEventKey({ ...PARTS, createdSeconds: 1 }) >= FIRST_DATED_KEY).toBe(true);
});

test('the range of a second includes any content of the same time and subscription', () => {
  expect(tieGroupRangeOf(formatEventKey(PARTS))).toEqual({
    low: '6553f100-0123-4567-0000-000000000000',
    high: '6553f100-0123-4567-ffff-ffffffffffff',
  });
  expect(tieGroupRangeOf(FIRST_DATED_KEY).high).toBe('00000001-0000-0000-ffff-ffffffffffff');
});

test('an event without a time is alone in its range', () => {
  const key = formatEventKey({ ...PARTS, createdSeconds: null });
  expect(tieGroupRangeOf(key)).toEqual({ low: key, high: key });
});

test('the ranges of several keys include each second once', () => {
  const first = formatEventKey(PARTS);
  const sameSecond = formatEventKey({ ...PARTS, contentHash: '00000000000000000001' });
  const later = formatEventKey({ ...PARTS, createdSeconds: PARTS.createdSeconds + 1 });
  expect(tieGroupRanges([first, later, sameSecond])).toEqual([
    tieGroupRangeOf(first),
    tieGroupRangeOf(later),
  ]);
});
