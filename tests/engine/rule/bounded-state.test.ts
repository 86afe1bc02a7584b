import fc from 'fast-check';
import {
  ENDED_STATUSES,
  eventsNeededFor,
  fold,
  foldAll,
  KnownEvents,
  MAX_SUBSCRIPTIONS,
  NO_STATE,
  readState,
  type SubscriptionEvent,
  teamPlan,
  writeState,
} from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { repetitions } from '../../support/test-length.ts';
import { eventOf, eventsOf } from '../support/events.ts';

const statuses = ['active', 'trialing', 'canceled', 'canceled', 'incomplete_expired', 'past_due'];

/** Events of many subscriptions, most of which end. */
const events = fc
  .array(
    fc.record({
      subscriptionId: fc.nat({ max: 45 }).map((id) => `sub_${id}`),
      status: fc.constantFrom(...statuses),
      createdSeconds: fc.nat({ max: 400 }),
    }),
    { minLength: 60, maxLength: 150 },
  )
  .map((reports) => reports.map((reported) => eventOf(reported)));

/** Folds as the log does: the state is stored, and only the needed events are known. */
function foldStored(arrived: readonly SubscriptionEvent[], planSelection: 'newest' | 'best') {
  const outcomes: string[] = [];
  let text = writeState(NO_STATE);
  for (const [index, event] of arrived.entries()) {
    const state = readState(text);
    const needed = eventsNeededFor(state, event);
    const earlier = arrived.slice(0, index).filter(({ subscription }) => {
      const { subscriptionId, createdSeconds } = subscription;
      return subscriptionId === needed?.subscriptionId && createdSeconds >= needed.fromSeconds;
    });
    const folded = fold(state, event, new KnownEvents(earlier), planSelection);
    outcomes.push(folded.outcome);
    text = writeState(folded.state);
  }
  return { text, outcomes };
}

test.each(['newest', 'best'] as const)(
  '%s: what is dropped from a state changes no plan, no outcome and no later state',
  (planSelection) => {
    fc.assert(
      fc.property(events, (arrived) => {
        const { text, outcomes } = foldStored(arrived, planSelection);
        const state = readState(text);
        const kept = [...state.subscriptions.values()].filter(
          ({ latest, deciding }) =>
            !ENDED_STATUSES.includes(latest.reported.status) ||
            deciding?.isAmbiguous ||
            ['active', 'trialing'].includes(deciding?.reported.status ?? ''),
        ).length;
        // One that decides, under either setting, stays as well.
        expect(state.subscriptions.size).toBeLessThanOrEqual(Math.max(MAX_SUBSCRIPTIONS, kept + 2));

        const whole = wholeHistory(arrived, planSelection);
        const plan = teamPlan(state, planSelection, new Map());
        expect(plan).toEqual(teamPlan(whole.state, planSelection, new Map()));
        expect(outcomes).toEqual(whole.outcomes);
        // A rebuild knows all earlier events, and the state only those that it asked for.
        expect(text).toBe(writeState(foldAll(arrived)));
        for (const [id, subscription] of state.subscriptions) {
          expect(subscription).toEqual(whole.state.subscriptions.get(id));
        }
        const alive = [...whole.state.subscriptions].filter(
          ([, { latest }]) => !ENDED_STATUSES.includes(latest.reported.status),
        );
        for (const [id] of alive) expect(state.subscriptions.has(id)).toBe(true);
      }),
      { numRuns: repetitions(20, 200) },
    );
  },
);

/** Folds subscription by subscription, so that nothing is dropped, and merges the states. */
function wholeHistory(arrived: readonly SubscriptionEvent[], planSelection: 'newest' | 'best') {
  let state = NO_STATE;
  const known = new KnownEvents();
  const outcomes = arrived.map((event) => {
    const { subscriptionId } = event.subscription;
    const folded = fold(state, event, known, planSelection);
    const own = folded.state.subscriptions.get(subscriptionId);
    known.add(event);
    const ofThis = [...known.all()].filter(
      ({ subscription }) => subscription.subscriptionId === subscriptionId,
    );
    const again = own ?? foldAll(ofThis).subscriptions.get(subscriptionId);
    const subscriptions = new Map(state.subscriptions);
    if (again !== undefined) subscriptions.set(subscriptionId, again);
    state = { subscriptions, hasDropped: false };
    return folded.outcome;
  });
  return { state, outcomes };
}

/** The ids that are kept after these events. */
const idsAfter = (...events: readonly SubscriptionEvent[][]) => [
  ...foldAll(events.flat()).subscriptions.keys(),
];
const several = (count: number, createdSeconds: number, status: string) =>
  Array.from({ length: count }, (_, index) => eventsOf(`sub_${index}`, createdSeconds, status));

test('more than 20 subscriptions are dropped that ended longest ago, the smallest id first', () => {
  const old = ['d', 'c', 'b', 'a'].map((id, index) =>
    eventsOf(id, [30, 20, 10, 20][index] ?? 0, 'incomplete_expired'),
  );
  const kept = (count: number) =>
    idsAfter(...old, ...several(count, 40, 'incomplete_expired'))
      .join('')
      .split('sub')[0];
  expect([16, 17, 18, 19].map(kept)).toEqual(['dcba', 'dca', 'dc', 'd']);
});

test('one that grants a plan or has an ambiguous order is not dropped, nor one that decides or has not ended', () => {
  const granting = [eventsOf('a', 1, 'active'), eventsOf('a', 2, 'incomplete_expired')];
  const ambiguous = eventsOf('b', 1, 'unpaid', 'canceled');
  const others = [eventsOf('c', 95, 'active'), eventsOf('d', 3, 'canceled')];
  const ids = idsAfter(...granting, ambiguous, ...others, ...several(25, 90, 'canceled'));
  expect(ids.slice(0, 3)).toEqual(['a', 'b', 'c']);
  expect(ids).not.toContain('d');
  // It decides if the newest event does.
  const end = [eventsOf('c', 1, 'active'), eventsOf('d', 50, 'canceled')];
  expect(idsAfter(...end, ...several(25, 90, 'incomplete_expired'))).toContain('d');
  expect(foldAll(several(20, 90, 'canceled').flat()).hasDropped).toBe(false);
  expect(foldAll(several(25, 90, 'past_due').flat()).hasDropped).toBe(false);
});
