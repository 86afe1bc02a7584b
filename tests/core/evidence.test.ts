import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import type { SubscriptionChange } from '../../src/core/subscription-event.ts';
import { event, lastOf, permutations } from './subscription-changes.ts';

/** A member of a subscription; `undefined` where the subscription has no such member. */
type Member = Json | undefined;

/** Whether an event that replaced `replaced` is known to come after one that left `left`. */
function proves(left: Member, replaced: Json): boolean {
  const first = event({ status: 'trialing', ...(left === undefined ? {} : { member: left }) });
  const second = event({ status: 'active' }, { status: 'trialing', member: replaced });
  return isOrdered(first, second);
}

/** Whether an event that does not name a member can come after one that left it so. */
function leavesAlone(before: Member, after: Member): boolean {
  const first = event(
    { status: 'trialing', ...(before === undefined ? {} : { member: before }) },
    { member: 'told, and something else' },
  );
  const second = event(
    { status: 'active', ...(after === undefined ? {} : { member: after }) },
    { status: 'trialing' },
  );
  return isOrdered(first, second);
}

/** Whether cause puts the two in order, whichever arrives first. */
function isOrdered(first: SubscriptionChange, second: SubscriptionChange): boolean {
  const [end, reversed] = permutations([first, second]).map((events) => lastOf(events));
  expect(end?.newest).toEqual(second.subscription);
  expect(reversed?.order).toBe(end?.order);
  if (end?.order === 'known') expect(reversed?.newest).toEqual(second.subscription);
  return end?.order === 'known';
}

/** A value, wrapped so many times. */
function nested(depth: number, innermost: Json, wrap: (inner: Json) => Json): Json {
  return depth === 0 ? innermost : wrap(nested(depth - 1, innermost, wrap));
}

test.each<[string, Member, Json]>([
  ['a value is replaced by the same', 7, 7],
  ['null stands where null was', null, null],
  ['null stands where nothing was', undefined, null],
  ['an object was there with more members', { id: 'p1', amount: 5 }, { id: 'p1' }],
  ['a member was not there, and is told as null', { id: 'p1' }, { id: 'p1', amount: null }],
  ['a list was the same, entry by entry', ['a', { id: 'b', n: 1 }], ['a', { id: 'b' }]],
  ['an empty list was empty', [], []],
])('replaced values are evidence when %s', (_, left, replaced) => {
  expect(proves(left, replaced)).toBe(true);
});

test.each<[string, Member, Json]>([
  ['another value was there', 7, 8],
  ['a text was there for a number', '7', 7],
  ['a text was there for an object', 'ab', { 0: 'a' }],
  ['a number was there for an object', 7, {}],
  ['nothing was there', undefined, 7],
  ['a value was there for null', 7, null],
  ['false was there for null', false, null],
  ['null was there for an object', null, { id: 'p1' }],
  ['a text was there for an object', 'p1', { id: 'p1' }],
  ['a text was there for a list', 'a', ['a']],
  ['one member of an object differs', { id: 'p1', amount: 5 }, { id: 'p1', amount: 6 }],
  ['one entry of a list differs', ['a', 'b'], ['a', 'c']],
  ['the entries stood in another order', ['a', 'b'], ['b', 'a']],
  ['the list was longer', ['a', 'b'], ['a']],
  ['the list was shorter', ['a'], ['a', 'b']],
  ['the list was shorter by a null', ['a'], ['a', null]],
  ['a list was there for an object', ['a'], { 0: 'a' }],
  ['an object was there for a list', { 0: 'a', length: 1 }, ['a']],
  ['an empty list was there for an empty object', [], {}],
])('replaced values are no evidence when %s', (_, left, replaced) => {
  expect(proves(left, replaced)).toBe(false);
});

test('replacing all values that were left is evidence of the order', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const json: Json = JSON.parse(JSON.stringify(value));
      expect(proves(json, json)).toBe(true);
      expect(leavesAlone(json, json)).toBe(true);
      expect(proves({ more: 1, json }, { json })).toBe(true);
      expect(proves({ json }, { json, more: 1 })).toBe(false);
    }),
  );
});

test.each<[string, (inner: Json) => Json]>([
  ['objects', (inner) => ({ inner })],
  ['lists', (inner) => [inner]],
])('%s within one another are evidence down to the 32nd, and no deeper', (_, wrap) => {
  expect(proves(nested(32, 1, wrap), nested(32, 1, wrap))).toBe(true);
  expect(proves(nested(32, 1, wrap), nested(32, 2, wrap))).toBe(false);
  expect(proves(nested(33, 1, wrap), nested(33, 1, wrap))).toBe(false);
});

test.each<[string, Member, Member, boolean]>([
  ['the same', { id: 'p1' }, { id: 'p1' }, true],
  ['nothing as null', undefined, null, true],
  ['null as nothing', null, undefined, true],
  ['an object as one with a null more', { id: 'p1' }, { id: 'p1', amount: null }, true],
  ['an object as one with a member more', { id: 'p1' }, { id: 'p1', amount: 5 }, false],
  ['an object as one with a member less', { id: 'p1', amount: 5 }, { id: 'p1' }, false],
  ['a value as nothing', 7, undefined, false],
  ['nothing as a value', undefined, 7, false],
])('an event keeps what it does not name: %s', (_, before, after, isAlone) => {
  expect(leavesAlone(before, after)).toBe(isAlone);
});
