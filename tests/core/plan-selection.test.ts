import fc from 'fast-check';
import {
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  planWriterOf,
  selectedSubscription,
  teamPlan,
} from 'instep/src/core/plan-selection.ts';
import type { SubscriptionState } from 'instep/src/core/subscription-event.ts';
import { NO_PLAN, planAfter } from 'instep/src/core/transition.ts';
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

describe('a grant', () => {
  const grant = { planName: 'Partner', productId: 'prod_partner', isOver: false };
  const granted = {
    providerSubscriptionId: null,
    providerProductId: 'prod_partner',
    planName: 'Partner',
    subscriptionStatus: 'active',
  };
  const noNames = new Map();
  const planWith = (statuses: readonly string[], isOver = false) => {
    const events = statuses.map((status, index) => ({
      ...{ ...example, status, subscriptionId: `sub_${index}` },
      createdSeconds: example.createdSeconds + index,
    }));
    return teamPlan(customerOf(events), 'newest', noNames, { ...grant, isOver });
  };

  test.each([[[]], [['canceled']], [['unpaid']], [['active', 'canceled']]])(
    'counts where the deciding event grants no plan: %j',
    (statuses) => expect(planWith(statuses)).toEqual(granted),
  );

  test.each([[['active']], [['trialing']], [['canceled', 'active']]])(
    'does not count beside a subscription that grants a plan: %j',
    (statuses) => expect(planWith(statuses)?.providerSubscriptionId).toMatch('sub_'),
  );

  test('that is over leaves what the events say', () => {
    expect(planWith([], true)).toBeNull();
    expect(planWith(['canceled'], true)).toEqual({ ...NO_PLAN, subscriptionStatus: 'canceled' });
  });

  test("gives a plan that is Instep's own, also after its end and with another name", () => {
    const over = { ...grant, isOver: true };
    const renamed = { ...granted, planName: 'Renamed' };
    expect(planWriterOf(granted, NO_DECIDING_EVENTS, grant)).toBe('instep');
    expect(planWriterOf(renamed, NO_DECIDING_EVENTS, over)).toBe('instep');
    expect(planWriterOf(granted, NO_DECIDING_EVENTS)).toBe('by hand');
    const other = { ...granted, providerProductId: 'prod_other' };
    expect(planWriterOf(other, NO_DECIDING_EVENTS, grant)).toBe('by hand');
  });
});

describe("a team's plan is Instep's own", () => {
  const later = example.createdSeconds + 1;
  const end = { ...example, subscriptionId: 'sub_2', status: 'canceled', createdSeconds: later };
  const trial = { ...example, subscriptionId: 'sub_3', status: 'trialing' };
  const customer = customerOf([example, end, trial]);
  const own = planAfter(example) ?? NO_PLAN;

  test("when it is the customer's plan under either setting, whatever its name", () => {
    expect(planWriterOf(own, customer)).toBe('instep');
    expect(planWriterOf({ ...own, planName: 'Renamed' }, customer)).toBe('instep');
    expect(planWriterOf(planAfter(end) ?? NO_PLAN, customer)).toBe('instep');
  });

  test('but not when it is that of another known subscription', () => {
    expect(planWriterOf(planAfter(trial) ?? NO_PLAN, customer)).toBe('by hand');
  });

  test('when it is empty', () => {
    const empty = {
      providerSubscriptionId: null,
      providerProductId: null,
      planName: null,
      subscriptionStatus: null,
    };
    expect(planWriterOf(empty, NO_DECIDING_EVENTS)).toBe('instep');
  });

  test.each(['providerSubscriptionId', 'providerProductId', 'subscriptionStatus'] as const)(
    'but not with another %s',
    (field) => {
      const isUnknown = field === 'providerSubscriptionId';
      const writer = isUnknown ? 'unknown subscription' : 'by hand';
      expect(planWriterOf({ ...own, [field]: 'another' }, customer)).toBe(writer);
      expect(planWriterOf(own, NO_DECIDING_EVENTS)).toBe('unknown subscription');
    },
  );
});
