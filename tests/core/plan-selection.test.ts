import fc from 'fast-check';
import {
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  planWriterOf,
  selectedSubscription,
  teamPlan,
} from 'instep/src/core/plan-selection.ts';
import type { SubscriptionState } from 'instep/src/core/subscription-event.ts';
import { NO_PLAN } from 'instep/src/core/transition.ts';
import { describe, expect, test } from 'vitest';
import { example, permutations } from './subscription-changes.ts';

function customerOf(events: readonly SubscriptionState[]): DecidingEvents {
  return new Map(
    events.map((one) => [one.subscriptionId, { subscription: one, order: 'known' }] as const),
  );
}

describe.each(['newest', 'best'] as const)('%s', (planSelection) => {
  test('a customer without a subscription gives no plan', () => {
    expect(selectedSubscription(NO_DECIDING_EVENTS, planSelection)).toBeNull();
    expect(teamPlan(NO_DECIDING_EVENTS, planSelection, new Map())).toBeNull();
  });

  test('the order in which subscriptions became known does not matter', () => {
    const event = fc.record({
      subscriptionId: fc.constantFrom(null, '1', 'sub_1', 'sub_2', 'sub_3'),
      status: fc.constantFrom('active', 'trialing', 'canceled', 'unpaid'),
      createdSeconds: fc.nat({ max: 1 }),
    });
    const events = fc.uniqueArray(
      event.map((fields): SubscriptionState => ({ ...example, ...fields })),
      { selector: ({ subscriptionId }) => subscriptionId, maxLength: 4 },
    );
    fc.assert(
      fc.property(events, (some) => {
        const followed = selectedSubscription(customerOf(some), planSelection);
        for (const order of permutations(some)) {
          expect(selectedSubscription(customerOf(order), planSelection)).toBe(followed);
        }
      }),
    );
  });

  test('between two equal subscriptions within one second the larger id counts, and a missing id is the smallest', () => {
    const ids = [null, '1', 'sub_1', 'sub_2'];
    const events = ids.map((subscriptionId) => ({ ...example, subscriptionId }));
    for (const [index, larger] of events.entries()) {
      for (const smaller of events.slice(0, index)) {
        expect(selectedSubscription(customerOf([smaller, larger]), planSelection)).toBe(larger);
        expect(selectedSubscription(customerOf([larger, smaller]), planSelection)).toBe(larger);
      }
    }
  });

  test('within one second, active takes precedence over trialing, and trialing over an end', () => {
    const active = { ...example, subscriptionId: 'sub_1' };
    const trialing = { ...example, subscriptionId: 'sub_2', status: 'trialing' };
    const unpaid = { ...example, subscriptionId: 'sub_3', status: 'unpaid' };
    const canceled = { ...example, subscriptionId: 'sub_4', status: 'canceled' };
    for (const order of permutations([active, trialing, unpaid, canceled])) {
      expect(selectedSubscription(customerOf(order), planSelection)).toBe(active);
    }
    for (const order of permutations([trialing, unpaid, canceled])) {
      expect(selectedSubscription(customerOf(order), planSelection)).toBe(trialing);
    }
  });
});

test('newest: an end that is newer than a live subscription counts; best: it does not', () => {
  const live = { ...example, status: 'trialing', createdSeconds: 10 };
  const end = { ...example, subscriptionId: 'sub_0', status: 'unpaid', createdSeconds: 11 };
  for (const order of permutations([live, end])) {
    expect(selectedSubscription(customerOf(order), 'newest')).toBe(end);
    expect(selectedSubscription(customerOf(order), 'best')).toBe(live);
  }
});

test('best: the newer one of two equally live subscriptions counts', () => {
  const older = { ...example, subscriptionId: 'sub_2', createdSeconds: 10 };
  const newer = { ...example, subscriptionId: 'sub_1', createdSeconds: 11 };
  for (const order of permutations([older, newer])) {
    expect(selectedSubscription(customerOf(order), 'best')).toBe(newer);
  }
});

describe('the name of the plan', () => {
  const names = new Map([['prod_1', 'Gold']]);
  const nameOf = (changes: Partial<SubscriptionState>) =>
    teamPlan(customerOf([{ ...example, ...changes }]), 'newest', names)?.planName;

  test("is the event's own", () => {
    expect(nameOf({ planName: 'Pro' })).toBe('Pro');
  });

  test("is the product's when the event has none", () => {
    expect(nameOf({ planName: null })).toBe('Gold');
  });

  test('is missing when neither the event nor its product has one', () => {
    expect(nameOf({ planName: null, productId: 'prod_2' })).toBeNull();
    expect(nameOf({ planName: null, productId: null })).toBeNull();
  });

  test('is cleared with the plan', () => {
    expect(nameOf({ planName: null, status: 'canceled' })).toBeNull();
  });
});

describe('a plan without a subscription', () => {
  const gift = { ...NO_PLAN, planName: 'Partner', subscriptionStatus: 'active' };
  const [live, ended] = ['active', 'canceled'].map((status) => ({ ...example, status }));
  const other = { ...example, subscriptionId: 'sub_2', createdSeconds: 0 };

  test.each([
    ['no subscription', []],
    ['an ended one', [ended]],
  ])("is the app's own beside %s", (_, events) => {
    const decidingEvents = customerOf(events.flatMap((event) => event ?? []));
    expect(planWriterOf(gift, decidingEvents)).toBe('app');
    const active = { ...NO_PLAN, subscriptionStatus: 'active' };
    expect(planWriterOf(active, decidingEvents)).toBe('app');
    expect(planWriterOf({ ...gift, subscriptionStatus: null }, decidingEvents)).toBe('app');
  });

  test.each([
    ['a live one', [live]],
    ['a live one that does not decide', [ended, other]],
  ])('was written by hand beside %s', (_, events) => {
    const decidingEvents = customerOf(events.flatMap((event) => event ?? []));
    expect(planWriterOf(gift, decidingEvents)).toBe('by hand');
  });

  test("is Instep's own if the event named no subscription, or cleared the plan", () => {
    const event = { ...example, subscriptionId: null };
    const plan = teamPlan(customerOf([event]), 'newest', new Map()) ?? NO_PLAN;
    expect(plan.providerSubscriptionId).toBeNull();
    expect(planWriterOf(plan, customerOf([event]))).toBe('instep');
    const cleared = { ...NO_PLAN, subscriptionStatus: 'canceled' };
    expect(planWriterOf(cleared, customerOf([{ ...example, status: 'canceled' }]))).toBe('instep');
  });
});
