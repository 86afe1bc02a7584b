import fc from 'fast-check';
import { EventHistory } from 'instep/src/core/event-history.ts';
import { decideEvent } from 'instep/src/core/ordering-rule.ts';
import {
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  type PlanSelection,
  teamPlan,
} from 'instep/src/core/plan-selection.ts';
import type { ParsedEvent, SubscriptionState } from 'instep/src/core/subscription-event.ts';
import { planAfter, type TeamPlan } from 'instep/src/core/transition.ts';
import { describe, expect, test } from 'vitest';
import { event, example } from './subscription-changes.ts';

const statuses = ['active', 'trialing', 'canceled', 'unpaid', 'past_due', 'incomplete', 'paused'];

const anyEvent: fc.Arbitrary<SubscriptionState> = fc.record({
  customerId: fc.constant('cus_1'),
  subscriptionId: fc.constantFrom('sub_1', 'sub_2', null),
  status: fc.constantFrom(...statuses),
  productId: fc.constantFrom('prod_1', 'prod_2', null),
  planName: fc.constantFrom('Starter', 'Pro', null),
  createdSeconds: fc.nat({ max: 50 }),
});

/** Events of different seconds. */
const distinctEvents = fc.uniqueArray(anyEvent, {
  selector: (event) => event.createdSeconds,
  maxLength: 12,
});

let count = 0;

/** An event without any evidence of its order. */
const change = (subscription: SubscriptionState): ParsedEvent => ({
  key: `key_${++count}`,
  subscription,
  object: {},
  previousAttributes: null,
  isDeletion: false,
  isSnapshot: false,
  seenKeys: null,
});

/** The team's plan after events without any evidence of their order. */
function team(events: readonly SubscriptionState[], planSelection: PlanSelection = 'newest') {
  let decidingEvents: DecidingEvents = NO_DECIDING_EVENTS;
  let plan: TeamPlan | null = null;
  const history = new EventHistory();
  const outcomes = [];
  for (const event of new Set(events)) {
    const arriving = change(event);
    history.add(arriving);
    const step = decideEvent(decidingEvents, arriving, history, planSelection);
    decidingEvents = step.decidingEvents;
    outcomes.push(step.outcome);
    if (step.outcome === 'applied') plan = teamPlan(decidingEvents, planSelection, new Map());
  }
  return { plan, decidingEvents, outcomes };
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

test.each(['newest', 'best'] as const)(
  '%s: any order of arrival ends in the same state',
  (planSelection) => {
    const history = distinctEvents.chain((events) =>
      fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
    );
    fc.assert(
      fc.property(history, ([events, delivered]) => {
        const [inOrder, shuffled] = [team(events, planSelection), team(delivered, planSelection)];
        expect(shuffled.plan).toEqual(inOrder.plan);
        expect(new Map([...shuffled.decidingEvents].sort())).toEqual(
          new Map([...inOrder.decidingEvents].sort()),
        );
      }),
    );
  },
);

test('best: the team has a live subscription as long as there is one', () => {
  fc.assert(
    fc.property(distinctEvents, (events) => {
      const { plan, decidingEvents } = team(events, 'best');
      const states = [...decidingEvents.values()].map(({ subscription }) => subscription.status);
      const best = ['active', 'trialing'].find((status) => states.includes(status));
      if (best !== undefined) expect(plan?.subscriptionStatus).toBe(best);
      else if (plan !== null) expect(plan.providerSubscriptionId).toBeNull();
    }),
  );
});

test("an event without an effect changes neither the team nor the state's time", () => {
  fc.assert(
    fc.property(distinctEvents, (events) => {
      const { decidingEvents } = team(events);
      const pastDue = change({ ...example, status: 'past_due', createdSeconds: 1_000 });
      const step = decideEvent(decidingEvents, pastDue, new EventHistory([pastDue]), 'newest');
      expect(step).toEqual({ outcome: 'unchanged', decidingEvents });
    }),
  );
});

test("an older event of another subscription is stored, and keeps the team's plan", () => {
  const newer = { ...example, subscriptionId: 'sub_2', createdSeconds: 20 };
  const older = { ...example, status: 'canceled', createdSeconds: 10 };
  const { outcomes, decidingEvents } = team([newer, older]);
  expect(outcomes).toEqual(['applied', 'stale']);
  expect(decidingEvents.get('sub_1')?.subscription).toEqual(older);
  expect(decidingEvents.get('sub_2')?.subscription).toEqual(newer);
});

test("best: the end of another subscription keeps the team's plan", () => {
  const mine = { ...example, createdSeconds: 10 };
  const other = { ...example, subscriptionId: 'sub_2', status: 'canceled', createdSeconds: 20 };
  const { plan, outcomes } = team([mine, other], 'best');
  expect(plan).toMatchObject({ providerSubscriptionId: 'sub_1', subscriptionStatus: 'active' });
  expect(outcomes).toEqual(['applied', 'unchanged']);
});

test("best: when the team's subscription ends, the next live one counts, and then none", () => {
  const live = { ...example, subscriptionId: 'sub_2', status: 'trialing', createdSeconds: 10 };
  const mine = { ...example, createdSeconds: 20 };
  const end = { ...example, status: 'unpaid', createdSeconds: 30 };
  const lastEnd = { ...live, status: 'canceled', createdSeconds: 40 };
  expect(team([live, mine], 'best').plan).toMatchObject({ providerSubscriptionId: 'sub_1' });
  expect(team([live, mine, end], 'best').plan).toMatchObject({
    providerSubscriptionId: 'sub_2',
    subscriptionStatus: 'trialing',
  });
  expect(team([live, mine, end, lastEnd], 'best').plan).toMatchObject({
    providerSubscriptionId: null,
    subscriptionStatus: 'canceled',
  });
});

/** The outcome of each of the events of one second, arriving in this order. */
function outcomesOf(
  arrived: readonly ParsedEvent[],
  planSelection: PlanSelection,
  before = NO_DECIDING_EVENTS,
) {
  let decidingEvents = before;
  const history = new EventHistory();
  return arrived.map((event) => {
    history.add(event);
    const step = decideEvent(decidingEvents, event, history, planSelection);
    decidingEvents = step.decidingEvents;
    return step.outcome;
  });
}

describe.each(['newest', 'best'] as const)('%s: within one second', (planSelection) => {
  const trial = event({ status: 'trialing' }, { status: 'incomplete' });
  const paid = event({ status: 'active' }, { status: 'trialing' });
  const failed = event({ status: 'past_due' }, { status: 'active' });
  const end = event({ status: 'canceled' }, { status: 'past_due' });

  test('an earlier event is stale when it arrives late', () => {
    expect(outcomesOf([trial, paid], planSelection)).toEqual(['applied', 'applied']);
    expect(outcomesOf([paid, trial], planSelection)).toEqual(['applied', 'stale']);
  });

  test('an event without an effect is unchanged, whenever it arrives', () => {
    expect(outcomesOf([paid, failed], planSelection)).toEqual(['applied', 'unchanged']);
    expect(outcomesOf([failed, paid], planSelection)).toEqual(['unchanged', 'applied']);
  });

  test('an event without an effect is applied when it shows that another one came last', () => {
    expect(outcomesOf([end, paid, failed], planSelection)).toEqual([
      'applied',
      'applied',
      'applied',
    ]);
  });

  test('an event that repeats the plan is applied, since it decides the plan now', () => {
    const again = event({ status: 'active', seats: 2 }, { seats: 1 });
    expect(outcomesOf([paid, again], planSelection)).toEqual(['applied', 'applied']);
  });
});

test('events without a time count in the order of their arrival', () => {
  const undated = (status: string, number: number) => ({
    ...change({ ...example, status }),
    key: `00000000-0000-0000-0000-00000000000${number}`,
  });
  const arrived = [undated('active', 1), undated('canceled', 2), undated('past_due', 3)];
  expect(outcomesOf(arrived, 'newest')).toEqual(['applied', 'applied', 'unchanged']);
  const end = undated('unpaid', 4);
  const { decidingEvents } = decideEvent(
    NO_DECIDING_EVENTS,
    end,
    new EventHistory([...arrived, end]),
    'newest',
  );
  expect(decidingEvents.get('sub_1')).toEqual({ subscription: end.subscription, order: 'known' });
});

test.each(['newest', 'best'] as const)(
  '%s: an older event of the same subscription is stale, or unchanged without effect',
  (planSelection) => {
    const newer = { ...example, createdSeconds: 20 };
    const pastDue = { ...example, status: 'past_due', createdSeconds: 5 };
    const { decidingEvents, outcomes } = team([newer, example, pastDue], planSelection);
    expect(outcomes).toEqual(['applied', 'stale', 'unchanged']);
    expect(decidingEvents).toEqual(new Map([['sub_1', { subscription: newer, order: 'known' }]]));
  },
);

test("an older event is stale, or unchanged without effect, when its subscription's newest second was not read", () => {
  const { decidingEvents } = team([{ ...example, createdSeconds: 20 }]);
  for (const [status, outcome] of [
    ['canceled', 'stale'],
    ['past_due', 'unchanged'],
  ] as const) {
    const older = change({ ...example, status });
    const step = decideEvent(decidingEvents, older, new EventHistory([older]), 'newest');
    expect(step).toEqual({ outcome, decidingEvents });
  }
});

test('best: within a second of another subscription, the newest event is unchanged, and an earlier one is stale', () => {
  const { decidingEvents } = team([{ ...example, subscriptionId: 'sub_2' }], 'best');
  const trial = event({ status: 'trialing' }, { status: 'incomplete' });
  const end = event({ status: 'unpaid' }, { status: 'trialing' });
  expect(outcomesOf([end, trial], 'best', decidingEvents)).toEqual(['unchanged', 'stale']);
});

test('the deciding events before an event are not modified', () => {
  const { decidingEvents } = team([example]);
  const end = change({ ...example, status: 'canceled', createdSeconds: 20 });
  const step = decideEvent(decidingEvents, end, new EventHistory([end]), 'newest');
  expect(step.decidingEvents.get('sub_1')?.subscription).toBe(end.subscription);
  expect(decidingEvents.get('sub_1')?.subscription).toBe(example);
});
