import fc from 'fast-check';
import {
  ambiguousReport,
  bestOf,
  foldAll,
  NO_STATE,
  selectedReport,
  teamPlan,
} from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { eventOf, eventsOf } from '../support/events.ts';
import { permutations } from '../support/permutations.ts';

type Report = NonNullable<Parameters<typeof eventOf>[0]>;
type PlanSelection = Parameters<typeof selectedReport>[1];

/** The state of a customer after one event of each of these subscriptions. */
const stateOf = (reports: readonly Report[]) => foldAll(reports.map(eventOf));

/** The subscription that decides. */
const selected = (reports: readonly Report[], planSelection: PlanSelection) =>
  selectedReport(stateOf(reports), planSelection)?.plan.providerSubscriptionId;

describe.each(['newest', 'best'] as const)('%s', (planSelection) => {
  test('a customer without a subscription gives no plan', () => {
    expect(selectedReport(NO_STATE, planSelection)).toBeNull();
    expect(teamPlan(NO_STATE, planSelection, new Map())).toBeNull();
  });

  test('the order in which subscriptions became known does not matter', () => {
    const report = fc.record({
      subscriptionId: fc.constantFrom(null, '1', 'sub_1', 'sub_2', 'sub_3'),
      status: fc.constantFrom('active', 'trialing', 'canceled', 'unpaid'),
      createdSeconds: fc.nat({ max: 1 }),
    });
    const reports = fc.uniqueArray(report, {
      selector: ({ subscriptionId }) => subscriptionId,
      maxLength: 4,
    });
    fc.assert(
      fc.property(reports, (some) => {
        const first = selected(some, planSelection);
        for (const order of permutations(some)) expect(selected(order, planSelection)).toBe(first);
      }),
    );
  });

  test('between two equal subscriptions within one second the larger id counts, and a missing id is the smallest', () => {
    const ids = [null, '1', 'sub_1', 'sub_2'];
    for (const [index, larger] of ids.entries()) {
      for (const smaller of ids.slice(0, index)) {
        const [a, b] = [{ subscriptionId: smaller }, { subscriptionId: larger }];
        expect(selected([a, b], planSelection)).toBe(larger);
        expect(selected([b, a], planSelection)).toBe(larger);
      }
    }
  });

  test('within one second, active takes precedence over trialing, and trialing over an end', () => {
    const active = { subscriptionId: 'sub_1' };
    const others = [
      { subscriptionId: 'sub_2', status: 'trialing' },
      { subscriptionId: 'sub_3', status: 'unpaid' },
      { subscriptionId: 'sub_4', status: 'canceled' },
    ];
    for (const order of permutations([active, ...others])) {
      expect(selected(order, planSelection)).toBe('sub_1');
    }
    for (const order of permutations(others)) expect(selected(order, planSelection)).toBe('sub_2');
  });
});

test('newest: an end that is newer than a live subscription counts; best: it does not', () => {
  const live = { status: 'trialing', createdSeconds: 10 };
  const end = { subscriptionId: 'sub_0', status: 'unpaid', createdSeconds: 11 };
  for (const order of permutations([live, end])) {
    expect(selectedReport(stateOf(order), 'newest')?.status).toBe('unpaid');
    expect(selected(order, 'best')).toBe('sub_1');
  }
});

test('best: the newer one of two equally live subscriptions counts', () => {
  const older = { subscriptionId: 'sub_2', createdSeconds: 10 };
  const newer = { subscriptionId: 'sub_1', createdSeconds: 11 };
  for (const order of permutations([older, newer])) expect(selected(order, 'best')).toBe('sub_1');
});

test.each([
  ["the event's own", { planName: 'Pro' }, 'Pro'],
  ["the product's, if the event has none", { planName: null }, 'Gold'],
  ['missing, if neither has one', { planName: null, productId: 'prod_2' }, null],
])('the name of the plan is %s', (_, report, name) => {
  const names = new Map([['prod_1', 'Gold']]);
  expect(teamPlan(stateOf([report]), 'newest', names)?.planName).toBe(name);
});

test('of subscriptions that are equally good, several are the best, and none if none grants a plan', () => {
  const best = (...statuses: readonly string[]) => bestOf(statuses, (status) => status);
  expect(best('trialing', 'active', 'canceled', 'active')).toEqual(['active', 'active']);
  expect(best('trialing', 'canceled')).toEqual(['trialing']);
  expect(best('past_due', 'canceled')).toEqual([]);
});

test('Stripe is asked about the oldest second that leaves the order open', () => {
  const known = [...eventsOf('sub_1', 1, 'active'), ...eventsOf('sub_2', 2, 'past_due')];
  expect(ambiguousReport(foldAll(known))).toBeNull();
  const open = [20, 10, 30].map((at) => eventsOf(`sub_at_${at}`, at, 'active', 'unpaid'));
  expect(ambiguousReport(foldAll([...known, ...open.flat()]))?.createdSeconds).toBe(10);
});
