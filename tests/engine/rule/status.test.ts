import {
  ENDED_STATUSES,
  effectOf,
  GRANTING_STATUSES,
  rankOf,
  STATUSES,
  statusesWithAccess,
} from 'instep-engine/rule';
import { expect, test } from 'vitest';

test.each(['Active', ' active', 'of_tomorrow', 'toString', '', null])(
  '"%s" has no effect',
  (status) => {
    expect(effectOf(status)).toBe('none');
    expect(rankOf(status ?? '')).toBe(0);
  },
);

test('active is better than trialing, and every other status is equally bad', () => {
  expect(GRANTING_STATUSES).toEqual(['active', 'trialing']);
  expect(rankOf('active')).toBeGreaterThan(rankOf('trialing'));
  expect(rankOf('trialing')).toBeGreaterThan(0);
  const others = Object.keys(STATUSES).filter((status) => !GRANTING_STATUSES.includes(status));
  expect(others.map(rankOf)).toEqual(others.map(() => 0));
});

test('two statuses are ends', () => {
  expect(ENDED_STATUSES).toEqual(['incomplete_expired', 'canceled']);
});

test('every status gives access to one extent', () => {
  expect(statusesWithAccess('yes')).toEqual(['trialing', 'active']);
  expect(statusesWithAccess('in grace')).toEqual(['past_due']);
  const none = ['incomplete', 'incomplete_expired', 'unpaid', 'paused', 'canceled'];
  expect(statusesWithAccess('no')).toEqual(none);
});
