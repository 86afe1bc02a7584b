import fc from 'fast-check';
import {
  type CustomerState,
  fold,
  KnownEvents,
  NO_STATE,
  type PlanSelection,
  planAfter,
  reportedBy,
  type SubscriptionEvent,
  teamPlan,
} from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';
import { event } from '../support/tie-groups.ts';

const statuses = ['active', 'trialing', 'canceled', 'unpaid', 'past_due', 'incomplete', 'paused'];

/** Events of different seconds. */
const distinctEvents = fc
  .uniqueArray(
    fc.record({
      subscriptionId: fc.constantFrom('sub_1', 'sub_2', null),
      status: fc.constantFrom(...statuses),
      productId: fc.constantFrom('prod_1', 'prod_2', null),
      planName: fc.constantFrom('Starter', 'Pro', null),
      createdSeconds: fc.nat({ max: 50 }),
    }),
    { selector: ({ createdSeconds }) => createdSeconds, maxLength: 12 },
  )
  .map((reports) => reports.map(eventOf));

/** The state and the outcomes after events in the order of their arrival. */
function after(
  arrived: readonly SubscriptionEvent[],
  planSelection: PlanSelection = 'newest',
  before: CustomerState = NO_STATE,
) {
  const known = new KnownEvents();
  let state = before;
  const outcomes = arrived.map((event) => {
    const folded = fold(state, event, known, planSelection);
    state = folded.state;
    known.add(event);
    return folded.outcome;
  });
  return { state, outcomes, plan: teamPlan(state, planSelection, new Map()) };
}

test('the team ends with the plan of the newest event that has an effect', () => {
  fc.assert(
    fc.property(distinctEvents, (events) => {
      const newest = events
        .map(reportedBy)
        .filter(({ plan }) => planAfter(plan) !== null)
        .sort((a, b) => b.createdSeconds - a.createdSeconds)[0];
      expect(after(events).plan).toEqual(newest === undefined ? null : planAfter(newest.plan));
    }),
  );
});

test('best: the team has a live subscription as long as there is one', () => {
  fc.assert(
    fc.property(distinctEvents, (events) => {
      const { plan, state } = after(events, 'best');
      const all = [...state.subscriptions.values()];
      const decided = all.map(({ deciding }) => deciding?.reported.status);
      const best = ['active', 'trialing'].find((status) => decided.includes(status));
      if (best !== undefined) expect(plan?.subscriptionStatus).toBe(best);
      else if (plan !== null) expect(plan.providerSubscriptionId).toBeNull();
    }),
  );
});

test('an event without an effect keeps the deciding event of its subscription', () => {
  fc.assert(
    fc.property(distinctEvents, (events) => {
      const { state, plan } = after(events);
      const pastDue = eventOf({ status: 'past_due', createdSeconds: 1_000 });
      const later = after([pastDue], 'newest', state);
      expect(later.outcomes).toEqual(['unchanged']);
      expect(later.plan).toEqual(plan);
      expect(later.state.subscriptions.get('sub_1')?.deciding ?? null).toEqual(
        state.subscriptions.get('sub_1')?.deciding ?? null,
      );
    }),
  );
});

test("an older event of another subscription is stored, and keeps the team's plan", () => {
  const newer = eventOf({ subscriptionId: 'sub_2', createdSeconds: 20 });
  const older = eventOf({ status: 'canceled', createdSeconds: 10 });
  const { outcomes, state } = after([newer, older]);
  expect(outcomes).toEqual(['applied', 'stale']);
  expect(state.subscriptions.get('sub_1')?.deciding?.reported).toEqual(reportedBy(older));
  expect(state.subscriptions.get('sub_2')?.deciding?.reported).toEqual(reportedBy(newer));
});

test("best: the end of another subscription keeps the team's plan", () => {
  const mine = eventOf({ createdSeconds: 10 });
  const end = eventOf({ subscriptionId: 'sub_2', status: 'canceled', createdSeconds: 20 });
  const { plan, outcomes } = after([mine, end], 'best');
  expect(plan).toMatchObject({ providerSubscriptionId: 'sub_1', subscriptionStatus: 'active' });
  expect(outcomes).toEqual(['applied', 'unchanged']);
});

describe.each(['newest', 'best'] as const)('%s: within one second', (planSelection) => {
  const trial = event({ status: 'trialing' }, { status: 'incomplete' });
  const paid = event({ status: 'active' }, { status: 'trialing' });
  const failed = event({ status: 'past_due' }, { status: 'active' });
  const end = event({ status: 'canceled' }, { status: 'past_due' });
  const outcomesOf = (...arrived: readonly SubscriptionEvent[]) =>
    after(arrived, planSelection).outcomes;

  test('an earlier event is stale when it arrives late', () => {
    expect(outcomesOf(trial, paid)).toEqual(['applied', 'applied']);
    expect(outcomesOf(paid, trial)).toEqual(['applied', 'stale']);
  });

  test('an event without an effect is unchanged, whenever it arrives', () => {
    expect(outcomesOf(paid, failed)).toEqual(['applied', 'unchanged']);
    expect(outcomesOf(failed, paid)).toEqual(['unchanged', 'applied']);
  });

  test('an event without an effect is applied when it shows that another one came last', () => {
    expect(outcomesOf(end, paid, failed)).toEqual(['applied', 'applied', 'applied']);
  });

  test('an event that repeats the plan is applied, since it decides the plan now', () => {
    const again = event({ status: 'active', seats: 2 }, { seats: 1 });
    expect(outcomesOf(paid, again)).toEqual(['applied', 'applied']);
  });
});

test('events without a time count in the order of their arrival', () => {
  const undated = (status: string, number: number) => ({
    ...eventOf({ status }),
    key: `00000000-0000-0000-0000-00000000000${number}`,
  });
  const arrived = [undated('active', 1), undated('canceled', 2), undated('past_due', 3)];
  expect(after(arrived).outcomes).toEqual(['applied', 'applied', 'unchanged']);
  const end = undated('unpaid', 4);
  expect(after([...arrived, end]).state.subscriptions.get('sub_1')?.deciding).toEqual({
    reported: reportedBy(end),
    isAmbiguous: false,
  });
});

test.each(['newest', 'best'] as const)(
  '%s: an older event of the same subscription is stale, or unchanged without effect',
  (planSelection) => {
    const newer = eventOf({ createdSeconds: 20 });
    const older = eventOf({ createdSeconds: 10 });
    const pastDue = eventOf({ status: 'past_due', createdSeconds: 5 });
    const { state, outcomes } = after([newer, older, pastDue], planSelection);
    expect(outcomes).toEqual(['applied', 'stale', 'unchanged']);
    expect(state.subscriptions.get('sub_1')?.deciding?.reported).toEqual(reportedBy(newer));
  },
);

test('best: within a second of another subscription, the newest event is unchanged, and an earlier one is stale', () => {
  const { state } = after([eventOf({ subscriptionId: 'sub_2' })], 'best');
  const trial = event({ status: 'trialing' }, { status: 'incomplete' });
  const end = event({ status: 'unpaid' }, { status: 'trialing' });
  expect(after([end, trial], 'best', state).outcomes).toEqual(['unchanged', 'stale']);
});
