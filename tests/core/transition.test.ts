import {
  hasPlan,
  isSamePlan,
  NO_PLAN,
  planAfter,
  type TeamPlan,
} from 'instep/src/core/transition.ts';
import { expect, test } from 'vitest';
import { example } from './subscription-changes.ts';

test.each(['active', 'trialing'])('%s grants the plan', (status) => {
  expect(planAfter({ ...example, status })).toEqual({
    providerSubscriptionId: 'sub_1',
    providerProductId: 'prod_1',
    planName: 'Pro',
    subscriptionStatus: status,
  });
});

test.each(['canceled', 'unpaid'])('%s clears the plan', (status) => {
  expect(planAfter({ ...example, status })).toEqual({
    providerSubscriptionId: null,
    providerProductId: null,
    planName: null,
    subscriptionStatus: status,
  });
});

test.each(['past_due', 'of_tomorrow'])('%s changes nothing', (status) => {
  expect(planAfter({ ...example, status })).toBeNull();
});

const plan: TeamPlan = {
  providerSubscriptionId: 'sub_1',
  providerProductId: 'prod_1',
  planName: 'Pro',
  subscriptionStatus: 'active',
};

test.each(Object.keys(plan))('plans with another %s are different', (field) => {
  expect(isSamePlan(plan, { ...plan, [field]: 'another' })).toBe(false);
  expect(isSamePlan({ ...plan, [field]: null }, plan)).toBe(false);
});

test.each(Object.entries(plan))('a team has a plan when only its %s is %j', (field, value) => {
  expect(hasPlan({ ...NO_PLAN, [field]: value })).toBe(true);
});

test.each([null, 'canceled', 'past_due'])(
  'a team with nothing but the status %j has no plan',
  (status) => {
    expect(hasPlan({ ...NO_PLAN, subscriptionStatus: status })).toBe(false);
  },
);

test('a plan is the same as its copy, and two missing plans are the same', () => {
  expect(isSamePlan(plan, { ...plan })).toBe(true);
  expect(isSamePlan(null, null)).toBe(true);
  expect(isSamePlan(plan, null)).toBe(false);
  expect(isSamePlan(null, plan)).toBe(false);
});
