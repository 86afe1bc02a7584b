import {
  ENDED_STATUSES,
  effectOf,
  GRANTING_STATUSES,
  rankOf,
  STATUSES,
  type Status,
} from 'instep-engine/rule';
import { expect, test } from 'vitest';

const EFFECTS: Readonly<Record<Status, ReturnType<typeof effectOf>>> = {
  active: 'grants',
  trialing: 'grants',
  past_due: 'none',
  unpaid: 'clears',
  canceled: 'clears',
  incomplete: 'none',
  incomplete_expired: 'none',
  paused: 'none',
};

test.each(Object.entries(EFFECTS))('the effect of %s on the plan: %s', (status, effect) => {
  expect(effectOf(status)).toBe(effect);
});

test.each(['Active', ' active', 'of_tomorrow', 'toString', ''])('"%s" has no effect', (status) => {
  expect(effectOf(status)).toBe('none');
  expect(rankOf(status)).toBe(0);
});

test('a missing status has no effect', () => {
  expect(effectOf(null)).toBe('none');
});

test('active is better than trialing, and every other status is equally bad', () => {
  expect(GRANTING_STATUSES).toEqual(['active', 'trialing']);
  expect(rankOf('active')).toBeGreaterThan(rankOf('trialing'));
  expect(rankOf('trialing')).toBeGreaterThan(0);
  const others = Object.keys(STATUSES).filter((status) => !GRANTING_STATUSES.includes(status));
  expect(others.map(rankOf)).toEqual(others.map(() => 0));
});

test('a subscription ends as incomplete_expired or canceled', () => {
  expect(ENDED_STATUSES).toEqual(['incomplete_expired', 'canceled']);
});
