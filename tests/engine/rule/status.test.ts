import { effectOf, GRANTING_STATUSES, rankOf, STATUSES } from 'instep-engine/rule';
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
