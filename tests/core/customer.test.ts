import { isSameState, type SubscriptionState } from 'instep/src/core/subscription-event.ts';
import { isSameDecidingEvent } from 'instep/src/core/tie-group.ts';
import { expect, test } from 'vitest';
import { example } from './subscription-changes.ts';

const others: readonly [keyof SubscriptionState, SubscriptionState][] = [
  ['customerId', { ...example, customerId: 'cus_2' }],
  ['subscriptionId', { ...example, subscriptionId: null }],
  ['status', { ...example, status: 'trialing' }],
  ['productId', { ...example, productId: 'prod_2' }],
  ['planName', { ...example, planName: null }],
  ['createdSeconds', { ...example, createdSeconds: 11 }],
];

test('an event is the same as its copy, and two missing events are the same', () => {
  expect(isSameState(example, { ...example })).toBe(true);
  expect(isSameState(null, null)).toBe(true);
});

test('an event is not the same as a missing one', () => {
  expect(isSameState(example, null)).toBe(false);
  expect(isSameState(null, example)).toBe(false);
});

test.each(others)('two events are different when their %s differs', (_, other) => {
  expect(isSameState(example, other)).toBe(false);
  expect(
    isSameDecidingEvent(
      { subscription: example, order: 'known' },
      { subscription: other, order: 'known' },
    ),
  ).toBe(false);
});

test('a deciding event is the same as its copy, and different from a missing one or one with another order', () => {
  const state = { subscription: example, order: 'known' } as const;
  expect(isSameDecidingEvent(state, { subscription: { ...example }, order: 'known' })).toBe(true);
  expect(isSameDecidingEvent(state, { subscription: example, order: 'ambiguous' })).toBe(false);
  expect(isSameDecidingEvent(state, undefined)).toBe(false);
});
