import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Customer, follow, UNKNOWN_CUSTOMER } from '../../src/subscriptions/customer.ts';
import type { SubscriptionEvent } from '../../src/subscriptions/subscription-event.ts';
import { planAfter, type TeamPlan } from '../../src/subscriptions/transition.ts';

const statuses = ['active', 'trialing', 'canceled', 'unpaid', 'past_due', 'incomplete', 'paused'];

const anyEvent: fc.Arbitrary<SubscriptionEvent> = fc.record({
  customerId: fc.constant('cus_1'),
  subscriptionId: fc.constantFrom('sub_1', 'sub_2', null),
  status: fc.constantFrom(...statuses),
  productId: fc.constantFrom('prod_1', 'prod_2', null),
  planName: fc.constantFrom('Starter', 'Pro', null),
  createdSeconds: fc.nat({ max: 50 }),
});

/** Events of which no two were made in one second. */
const distinctEvents = fc.uniqueArray(anyEvent, {
  selector: (event) => event.createdSeconds,
  maxLength: 12,
});

function team(events: readonly SubscriptionEvent[]): { plan: TeamPlan | null; customer: Customer } {
  let customer = UNKNOWN_CUSTOMER;
  let plan: TeamPlan | null = null;
  for (const event of events) {
    const step = follow(customer, event);
    customer = step.customer;
    if (step.verdict === 'applied') plan = step.plan;
  }
  return { plan, customer };
}

test('the team ends with the plan of the newest event that has an effect', () => {
  fc.assert(
    fc.property(distinctEvents, (events) => {
      const newest = events
        .filter((event) => planAfter(event) !== null)
        .sort((a, b) => b.createdSeconds - a.createdSeconds)[0];
      expect(team(events).plan).toEqual(newest === undefined ? null : planAfter(newest));
    }),
  );
});

test('any order of arrival, with any events repeated, ends in the same state', () => {
  const history = distinctEvents.chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc.shuffledSubarray([...events, ...events], { minLength: events.length * 2 }),
    ),
  );
  fc.assert(
    fc.property(history, ([events, delivered]) => {
      expect(team(delivered)).toEqual(team(events));
    }),
  );
});

test('an event without effect moves neither the team nor the clock', () => {
  fc.assert(
    fc.property(fc.array(anyEvent), anyEvent, (events, event) => {
      const { customer } = team(events);
      const pastDue = { ...event, status: 'past_due', createdSeconds: 1_000 };
      expect(follow(customer, pastDue)).toEqual({ verdict: 'unchanged', customer });
    }),
  );
});

test('of two events in one second the later arrival wins', () => {
  const first = { ...example, status: 'trialing' };
  const second = { ...example, status: 'active' };
  expect(team([first, second]).plan?.subscriptionStatus).toBe('active');
  expect(team([second, first]).plan?.subscriptionStatus).toBe('trialing');
});

test("an older event of another subscription is remembered, and leaves the team's plan", () => {
  const newer = { ...example, subscriptionId: 'sub_2', createdSeconds: 20 };
  const older = { ...example, status: 'canceled', createdSeconds: 10 };
  const { customer } = team([newer]);
  const step = follow(customer, older);
  expect(step.verdict).toBe('stale');
  expect(step.customer.get('sub_1')).toEqual(older);
  expect(step.customer.get('sub_2')).toEqual(newer);
});

const example: SubscriptionEvent = {
  customerId: 'cus_1',
  subscriptionId: 'sub_1',
  status: 'active',
  productId: 'prod_1',
  planName: 'Pro',
  createdSeconds: 10,
};
