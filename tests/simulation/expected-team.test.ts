import { expect, test } from 'vitest';
import {
  acceptableTeams,
  expectedAccess,
  expectedTeam,
  type TrueChange,
  withLast,
} from '../../simulation/expected-team.ts';

function change(subscriptionId: string, status: string, createdSeconds: number): TrueChange {
  const productId = `prod_${subscriptionId}`;
  return { subscriptionId, status, createdSeconds, productId, productName: productId };
}

const having = (subscriptionId: string, subscriptionStatus: string) => ({
  providerSubscriptionId: subscriptionId,
  providerProductId: `prod_${subscriptionId}`,
  planName: `prod_${subscriptionId}`,
  subscriptionStatus,
});

const without = (subscriptionStatus: string | null) => ({
  providerSubscriptionId: null,
  providerProductId: null,
  planName: null,
  subscriptionStatus,
});

test.each<[string, TrueChange[], 'newest' | 'best', object]>([
  ['no events', [], 'newest', without(null)],
  ['no event with an effect', [change('a', 'past_due', 1)], 'newest', without(null)],
  ['active', [change('a', 'active', 1)], 'newest', having('a', 'active')],
  ['trialing', [change('a', 'trialing', 1)], 'newest', having('a', 'trialing')],
  [
    'canceled',
    [change('a', 'active', 1), change('a', 'canceled', 2)],
    'newest',
    without('canceled'),
  ],
  ['unpaid', [change('a', 'active', 1), change('a', 'unpaid', 1)], 'newest', without('unpaid')],
  [
    'past due',
    [change('a', 'active', 1), change('a', 'past_due', 2)],
    'newest',
    having('a', 'active'),
  ],
  [
    'another one ends',
    [change('a', 'active', 1), change('b', 'canceled', 2)],
    'newest',
    without('canceled'),
  ],
  [
    'another one ends',
    [change('a', 'active', 1), change('b', 'canceled', 2)],
    'best',
    having('a', 'active'),
  ],
  [
    'another one is a trial',
    [change('a', 'active', 1), change('b', 'trialing', 2)],
    'best',
    having('a', 'active'),
  ],
  [
    'another one is a trial',
    [change('a', 'active', 1), change('b', 'trialing', 2)],
    'newest',
    having('b', 'trialing'),
  ],
  [
    'two in one second',
    [change('a', 'active', 1), change('b', 'canceled', 1)],
    'newest',
    having('a', 'active'),
  ],
  [
    'two active in one second',
    [change('b', 'active', 1), change('a', 'active', 1)],
    'newest',
    having('b', 'active'),
  ],
  ['both end', [change('a', 'unpaid', 2), change('b', 'canceled', 1)], 'best', without('unpaid')],
])('%s', (_, history, plan, expected) => {
  expect(expectedTeam(history, plan)).toEqual(expected);
});

test.each<[string, TrueChange[], 'newest' | 'best', boolean, ('team' | 'written')[]]>([
  ['no event counts', [], 'newest', true, ['written']],
  [
    'the newest event was decided earlier',
    [change('a', 'active', 1)],
    'newest',
    false,
    ['written'],
  ],
  ['the newest event was decided later', [change('a', 'canceled', 1)], 'newest', true, ['team']],
  ['a plan was decided later', [change('a', 'active', 1)], 'best', true, ['team']],
  ['an end was decided later', [change('a', 'canceled', 1)], 'best', true, ['team', 'written']],
  [
    'several events of a second',
    [change('a', 'active', 1), change('a', 'unpaid', 1)],
    'newest',
    true,
    ['team', 'written'],
  ],
])('a plan that the application wrote: %s, %#', (_, history, plan, isLater, expected) => {
  const written = having('new', 'active');
  const records = { team: expectedTeam(history, plan), written };
  expect(acceptableTeams(history, plan, written, () => isLater)).toEqual(
    expected.map((name) => records[name]),
  );
});

test.each<[string, TrueChange[], string | null, string | null]>([
  ['no subscription', [], null, null],
  ['one that is due', [change('a', 'active', 1), change('a', 'past_due', 2)], 'a', 'a'],
  [
    'one that is paid, and a newer one that is due',
    [change('a', 'active', 1), change('b', 'active', 2), change('b', 'past_due', 3)],
    'b',
    'a',
  ],
  [
    'two that are due',
    [
      ...[change('a', 'active', 1), change('b', 'active', 2)],
      ...[change('b', 'past_due', 3), change('a', 'past_due', 4)],
    ],
    'b',
    'a',
  ],
  ['two that have ended', [change('a', 'canceled', 1), change('b', 'unpaid', 2)], 'b', 'b'],
])('the subscription that decides access: %s', (_, history, newest, best) => {
  expect(expectedAccess(history, 'newest')?.subscriptionId ?? null).toBe(newest);
  expect(expectedAccess(history, 'best')?.subscriptionId ?? null).toBe(best);
});

test('the last arrival of a second comes after its other events, and stays in its second', () => {
  const [first, second] = [change('a', 'active', 1), change('a', 'unpaid', 1)];
  const [other, later] = [change('b', 'active', 1), change('a', 'past_due', 2)];
  const history = [first, second, other, later];
  expect(withLast(history, first)).toEqual([second, first, other, later]);
  expect(withLast(history, second)).toEqual(history);
  expect(withLast(history, later)).toEqual(history);
});
