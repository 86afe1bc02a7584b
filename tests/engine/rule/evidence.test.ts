import fc from 'fast-check';
import type { Json, SubscriptionEvent } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { permutations } from '../support/permutations.ts';
import { decidingAfter, event, known } from '../support/tie-groups.ts';

/** A member of a subscription; `undefined` where the subscription has no such member. */
type Member = Json | undefined;

/** Whether an event that replaced `replaced` is known to come after one that left `left`. */
function proves(left: Member, replaced: Json): boolean {
  const first = event({ status: 'trialing', ...(left === undefined ? {} : { member: left }) });
  const second = event({ status: 'active' }, { status: 'trialing', member: replaced });
  return isOrdered(first, second);
}

/** Whether an event that does not name a member as replaced can come after an event with this value. */
function leavesAlone(before: Member, after: Member): boolean {
  const first = event(
    { status: 'trialing', ...(before === undefined ? {} : { member: before }) },
    { member: 'another value, which is named as replaced' },
  );
  const second = event(
    { status: 'active', ...(after === undefined ? {} : { member: after }) },
    { status: 'trialing' },
  );
  return isOrdered(first, second);
}

/** Whether cause orders the two events, whichever arrives first. */
function isOrdered(first: SubscriptionEvent, second: SubscriptionEvent): boolean {
  const [end, reversed] = permutations([first, second]).map((events) => decidingAfter(events));
  expect(end?.reported).toEqual(known(second)?.reported);
  expect(reversed?.isAmbiguous).toBe(end?.isAmbiguous);
  if (end?.isAmbiguous) return false;
  expect(reversed).toEqual(known(second));
  return true;
}

/** A value, wrapped this many times. */
function nested(depth: number, innermost: Json, wrap: (inner: Json) => Json): Json {
  return depth === 0 ? innermost : wrap(nested(depth - 1, innermost, wrap));
}

test.each<[string, Member, Json]>([
  ['the value is the same', 7, 7],
  ['null replaces null', null, null],
  ['null replaces a missing value', undefined, null],
  ['the object had more members', { id: 'p1', amount: 5 }, { id: 'p1' }],
  ['a missing member is named as null', { id: 'p1' }, { id: 'p1', amount: null }],
  ['all entries of the list are the same', ['a', { id: 'b', n: 1 }], ['a', { id: 'b' }]],
  ['an empty list was empty', [], []],
])('replaced values are evidence of the order when %s', (_, left, replaced) => {
  expect(proves(left, replaced)).toBe(true);
});

test.each<[string, Member, Json]>([
  ['the value was different', 7, 8],
  ['the number was a string', '7', 7],
  ['the object was a string with the same characters', 'ab', { 0: 'a' }],
  ['the object was a number', 7, {}],
  ['the value was missing', undefined, 7],
  ['null was a value', 7, null],
  ['null was false', false, null],
  ['the object was null', null, { id: 'p1' }],
  ['the empty object was null', null, {}],
  ['the object was its id', 'p1', { id: 'p1' }],
  ['the list was a string', 'a', ['a']],
  ['one member of an object differs', { id: 'p1', amount: 5 }, { id: 'p1', amount: 6 }],
  ['one entry of a list differs', ['a', 'b'], ['a', 'c']],
  ['the entries were in another order', ['a', 'b'], ['b', 'a']],
  ['the list was longer', ['a', 'b'], ['a']],
  ['the list was shorter', ['a'], ['a', 'b']],
  ['the list was shorter by a null', ['a'], ['a', null]],
  ['the object was a list', ['a'], { 0: 'a' }],
  ['the list was an object', { 0: 'a', length: 1 }, ['a']],
  ['the empty object was an empty list', [], {}],
])('replaced values are not evidence of the order when %s', (_, left, replaced) => {
  expect(proves(left, replaced)).toBe(false);
});

test('replacing all values of an event is evidence of coming after it', () => {
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
])('nested %s are evidence down to the 32nd level, and not deeper', (_, wrap) => {
  expect(proves(nested(32, 1, wrap), nested(32, 1, wrap))).toBe(true);
  expect(proves(nested(32, 1, wrap), nested(32, 2, wrap))).toBe(false);
  expect(proves(nested(33, 1, wrap), nested(33, 1, wrap))).toBe(false);
});

test.each<[string, Member, Member, boolean]>([
  ['the same', { id: 'p1' }, { id: 'p1' }, true],
  ['a missing value as null', undefined, null, true],
  ['null as a missing value', null, undefined, true],
  ['an object as one with an additional null', { id: 'p1' }, { id: 'p1', amount: null }, true],
  ['an object as one with an additional member', { id: 'p1' }, { id: 'p1', amount: 5 }, false],
  ['an object as one without a member', { id: 'p1', amount: 5 }, { id: 'p1' }, false],
  ['a value as a missing value', 7, undefined, false],
  ['a missing value as a value', undefined, 7, false],
])(
  'an event does not change members that it does not name as replaced: %s',
  (_, before, after, isAlone) => {
    expect(leavesAlone(before, after)).toBe(isAlone);
  },
);

test('a member with the name of an inherited one is a member like any other', () => {
  const first = event({ status: 'trialing', constructor: 'x' });
  const second = event(
    { status: 'active', constructor: null },
    { status: 'trialing', constructor: 'x' },
  );
  const third = event({ status: 'unpaid' }, { status: 'active' });
  expect(decidingAfter([third, second, first])).toEqual(known(third));
});
