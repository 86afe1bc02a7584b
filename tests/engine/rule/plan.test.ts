import { hasPlan, isPlanOf, isSamePlan, NO_PLAN, type Plan, partOf } from 'instep-engine/rule';
import { expect, test } from 'vitest';

const plan: Plan = {
  providerSubscriptionId: 'sub_1',
  providerProductId: 'prod_1',
  planName: 'Pro',
  subscriptionStatus: 'active',
};

const whole: Required<Plan> = {
  ...plan,
  priceId: 'price_1',
  quantity: 2,
  currentPeriodEndsAt: 1_900_000_000,
  cancelAtPeriodEnd: false,
  trialEndsAt: 1_800_000_000,
};

test.each(Object.keys(whole))('plans with another %s are different', (field) => {
  expect(isSamePlan(whole, { ...whole, [field]: 'another' })).toBe(false);
  expect(isSamePlan({ ...whole, [field]: null }, whole)).toBe(false);
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

test('a row can hold only the fields of its table, and has a plan if these are the same', () => {
  const row = { priceId: null, trialEndsAt: null };
  expect(partOf(whole, row)).toEqual({ priceId: 'price_1', trialEndsAt: 1_800_000_000 });
  expect(partOf(plan, row)).toEqual(row);
  expect(isPlanOf({ priceId: 'price_1' }, whole)).toBe(true);
  expect(isPlanOf({ priceId: 'price_2' }, whole)).toBe(false);
  expect(isPlanOf({ priceId: null }, whole)).toBe(false);
});

test('a flag that is false in a row is right where the plan has none', () => {
  expect(isPlanOf({ cancelAtPeriodEnd: false }, NO_PLAN)).toBe(true);
  expect(isPlanOf({ cancelAtPeriodEnd: true }, NO_PLAN)).toBe(false);
  expect(isPlanOf({ cancelAtPeriodEnd: null }, whole)).toBe(false);
  expect(isPlanOf({ cancelAtPeriodEnd: false }, { ...whole, cancelAtPeriodEnd: true })).toBe(false);
  expect(isPlanOf({ quantity: 0 }, NO_PLAN)).toBe(false);
});
