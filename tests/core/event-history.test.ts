import { EventHistory } from 'instep/src/core/event-history.ts';
import type { ParsedEvent, SubscriptionState } from 'instep/src/core/subscription-event.ts';
import { describe, expect, test } from 'vitest';
import { event } from './subscription-changes.ts';

function at(createdSeconds: number, fields: Partial<SubscriptionState> = {}): ParsedEvent {
  const change = event({ status: 'active' });
  return { ...change, subscription: { ...change.subscription, createdSeconds, ...fields } };
}

test('returns the events of a second in the order of arrival', () => {
  const [one, other] = [at(10), at(10)];
  const history = new EventHistory([one, other]);
  expect(history.tieGroupOf(one.subscription).events).toEqual([one, other]);
  expect(history.tieGroupOf(at(11).subscription).events).toEqual([]);
});

test('replaces a known event in its place', () => {
  const [one, other] = [at(10), at(10)];
  const again = { ...one, isDeletion: true };
  const history = new EventHistory([one, other]);
  history.add(again);
  expect(history.tieGroupOf(one.subscription).events).toEqual([again, other]);
});

test.each([
  ['customer', { customerId: 'cus_2' }],
  ['subscription', { subscriptionId: 'sub_2' }],
  ['missing subscription', { subscriptionId: null }],
])('keeps events with another %s separate', (_, fields) => {
  const [one, other] = [at(10), at(10, fields)];
  const history = new EventHistory([one, other]);
  expect(history.tieGroupOf(one.subscription).events).toEqual([one]);
  expect(history.tieGroupOf(other.subscription).events).toEqual([other]);
});

test('distinguishes a missing subscription from any id', () => {
  const [none, empty] = [at(10, { subscriptionId: null }), at(10, { subscriptionId: 'null' })];
  const history = new EventHistory([none, empty]);
  expect(history.tieGroupOf(none.subscription).events).toEqual([none]);
});

describe('an event without created', () => {
  const undated = (seconds: number) => ({
    ...at(seconds, { status: 'unpaid' }),
    key: '00000000-0000-0000-0000-000000000001',
  });

  test('is the end of its second if no later arrival has an effect', () => {
    const [one, other] = [at(10), undated(10)];
    const last = new EventHistory([one, other, at(10, { status: 'past_due' })]);
    expect(last.tieGroupOf(one.subscription)).toMatchObject({
      lastUndated: other.subscription,
    });
    const first = new EventHistory([other, one]);
    expect(first.tieGroupOf(one.subscription)).toMatchObject({
      events: [one],
      lastUndated: null,
    });
  });
});
