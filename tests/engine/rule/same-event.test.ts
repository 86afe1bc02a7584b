import fc from 'fast-check';
import { type Json, KnownEvents, type SubscriptionEvent } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';
import { undated } from '../support/tie-groups.ts';

const of = (fields: Parameters<typeof eventOf>[0]) =>
  eventOf({ eventId: 'evt_same', apiVersion: '2020-08-27', ...fields });
const isFound = (one: SubscriptionEvent, other: SubscriptionEvent) =>
  new KnownEvents([one]).find(other) === one;

/** The members of every object in the opposite order. */
function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, inner]) => [name, reversed(inner)]);
  return Object.fromEntries(members.reverse());
}

/** Deeper than a stack is. */
const deep = () => JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);

test('the order of its members does not matter, and any other value does', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json: Json = JSON.parse(JSON.stringify(value));
      const [object, previousAttributes] = [{ json, b: 1 }, { json }];
      const event = of({ object, previousAttributes });
      const again = { b: 1, json: reversed(json), status: 'active' };
      expect(isFound(event, { ...of({ previousAttributes }), object: again })).toBe(true);
      expect(isFound(event, of({ object: { ...object, b: 2 }, previousAttributes }))).toBe(false);
      expect(isFound(event, of({ object, previousAttributes: { json: [json] } }))).toBe(false);
    }),
  );
});

const inOtherVersion = { apiVersion: '2025-08-27', object: { more: 1 } };
const undatedCopy = { ...undated({ status: 'active' }), eventId: 'evt_same' };

test.each<[string, boolean, SubscriptionEvent, SubscriptionEvent]>([
  ['in another API version', true, of({}), of(inOtherVersion)],
  ['with another id', false, of({}), of({ ...inOtherVersion, eventId: 'evt_2' })],
  ['of another type', false, of({}), { ...of(inOtherVersion), type: 'deleted' }],
  ['without an id', false, of({ eventId: null }), of({ ...inOtherVersion, eventId: null })],
  ['without a time', false, of({}), undatedCopy],
  ['after one without a time', false, undatedCopy, of({})],
  ['nested too deeply', false, of({ object: deep() }), of({ object: deep() })],
])('an event %s is the same: %s', (_, isSame, one, other) => {
  expect(isFound(one, other)).toBe(isSame);
});
