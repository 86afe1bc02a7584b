import fc from 'fast-check';
import {
  accessFacts,
  fold,
  foldAll,
  KnownEvents,
  readState,
  teamPlan,
  writeState,
} from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

const statuses = ['active', 'trialing', 'canceled', 'unpaid', 'past_due', 'incomplete', 'paused'];

/** Few seconds, so that many events share one. */
const anyEvent = fc
  .record({
    subscriptionId: fc.constantFrom('sub_1', 'sub_2', null),
    status: fc.constantFrom(...statuses),
    productId: fc.constantFrom('prod_1', 'prod_2', null),
    planName: fc.constantFrom('Starter', 'Pro', null),
    createdSeconds: fc.nat({ max: 12 }),
    previousAttributes: fc.option(
      fc.record({ status: fc.constantFrom(...statuses) }, { requiredKeys: ['status'] }),
    ),
  })
  .map((reported) => eventOf(reported));

const anyEvents = fc.array(anyEvent, { maxLength: 14 });

describe.each(['newest', 'best'] as const)('%s', (planSelection) => {
  test('a duplicate changes nothing, whenever it comes', () => {
    fc.assert(
      fc.property(anyEvents, fc.infiniteStream(fc.nat()), (events, picks) => {
        const known = new KnownEvents(events);
        const state = foldAll(events);
        for (const event of events.filter(() => Number(picks.next().value) % 2 === 0)) {
          expect(fold(state, event, known, planSelection)).toEqual({ state, outcome: 'duplicate' });
        }
        const twice = events.flatMap((event) => [event, event]);
        expect(writeState(foldAll(twice))).toBe(writeState(state));
      }),
    );
  });

  test('every order of arrival ends in the same text, if the events show theirs', () => {
    const distinct = fc.uniqueArray(anyEvent, {
      selector: ({ subscription }) =>
        `${subscription.subscriptionId} ${subscription.createdSeconds}`,
      maxLength: 12,
    });
    const delivered = distinct.chain((events) =>
      fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
    );
    fc.assert(
      fc.property(delivered, ([events, shuffled]) => {
        expect(writeState(foldAll(shuffled))).toBe(writeState(foldAll(events)));
      }),
      { numRuns: 500 },
    );
  });

  test('the stored text has the whole state', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const state = foldAll(events);
        const read = readState(writeState(state));
        expect(new Map(read.subscriptions)).toEqual(new Map(state.subscriptions));
        expect(writeState(read)).toBe(writeState(state));
      }),
    );
  });
});

test('access follows the latest event, since its status began, and the plan the deciding one', () => {
  const paid = eventOf({ status: 'active', createdSeconds: 10 });
  const due = eventOf({ status: 'past_due', createdSeconds: 30 });
  const dueBefore = eventOf({ status: 'past_due', createdSeconds: 20 });
  const state = foldAll([paid, due, dueBefore]);
  expect(teamPlan(state, 'newest', new Map())?.subscriptionStatus).toBe('active');
  expect(accessFacts(state, 'newest')).toMatchObject({
    latest: { status: 'past_due', createdSeconds: 30 },
    sinceSeconds: 20,
    grantsPlan: true,
  });
});

test('a plan has every field of the table that the subscription reports, and an end clears them', () => {
  const item = { price: { id: 'price_1' }, quantity: 3, current_period_end: 1_900_000_000 };
  const object = { items: { data: [item] }, cancel_at_period_end: true, trial_end: 1_800_000_000 };
  const paid = eventOf({ object });
  expect(teamPlan(foldAll([paid]), 'newest', new Map())).toEqual({
    subscriptionStatus: 'active',
    planName: 'Pro',
    providerProductId: 'prod_1',
    providerSubscriptionId: 'sub_1',
    priceId: 'price_1',
    quantity: 3,
    currentPeriodEndsAt: 1_900_000_000,
    cancelAtPeriodEnd: true,
    trialEndsAt: 1_800_000_000,
  });
  const end = eventOf({ object, status: 'canceled', createdSeconds: 20 });
  const cleared = teamPlan(foldAll([paid, end]), 'newest', new Map());
  expect(Object.values(cleared ?? {}).filter((value) => value !== null)).toEqual(['canceled']);
});
