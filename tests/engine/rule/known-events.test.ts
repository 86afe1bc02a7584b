import { eventsNeededFor, foldAll, KnownEvents, NO_STATE } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

const at = (createdSeconds: number, fields: Parameters<typeof eventOf>[0] = {}) =>
  eventOf({ createdSeconds, ...fields });

test('the events of a second are in the order of arrival', () => {
  const [one, other] = [at(10), at(10)];
  const known = new KnownEvents([one, other]);
  expect(known.inSecondOf(at(10))).toEqual([one, other]);
  expect(known.inSecondOf(at(11))).toEqual([]);
});

test('an event that is added again keeps its place', () => {
  const [one, other] = [at(10), at(10)];
  const known = new KnownEvents([one, other]);
  known.add({ ...one });
  expect(known.inSecondOf(one)).toEqual([one, other]);
  expect([...known.all()]).toEqual([one, other]);
});

test.each([
  ['subscription', { subscriptionId: 'sub_2' }],
  ['missing subscription', { subscriptionId: null }],
  ['subscription with the id "null"', { subscriptionId: 'null' }],
])('events of another %s are apart', (_, fields) => {
  const [one, other] = [at(10), at(10, fields)];
  const known = new KnownEvents([one, other]);
  expect(known.inSecondOf(one)).toEqual([one]);
  expect(known.inSecondOf(other)).toEqual([other]);
});

test('all events of a subscription are in the order of their seconds, whatever that of their arrival', () => {
  const [late, first, second] = [at(30), at(10), at(20)];
  const known = new KnownEvents([late, first, second, at(15, { subscriptionId: 'sub_2' })]);
  expect(known.ofSubscription('sub_1')).toEqual([first, second, late]);
  expect(known.ofSubscription('sub_3')).toEqual([]);
});

test('the next second is that of the next event of the same subscription', () => {
  const known = new KnownEvents([at(30), at(10), at(20), at(12, { subscriptionId: 'sub_2' })]);
  expect(known.nextSecondsAfter(at(10).subscription)).toBe(20);
  expect(known.nextSecondsAfter(at(5).subscription)).toBe(10);
  expect(known.nextSecondsAfter(at(30).subscription)).toBeNull();
  expect(new KnownEvents().nextSecondsAfter(at(30).subscription)).toBeNull();
});

test('the log is asked about the second of an event that is not the newest, and about all of a dropped subscription', () => {
  const state = foldAll([at(20)]);
  const dropped = { ...state, hasDropped: true };
  const undated = { ...at(30), key: at(0).key.replace(/^.{8}/, '00000000') };
  const other = at(30, { subscriptionId: 'sub_2' });
  for (const newest of [at(21), other]) expect(eventsNeededFor(state, newest)).toBeNull();
  expect(eventsNeededFor(NO_STATE, at(0))).toBeNull();
  expect(eventsNeededFor(dropped, at(21))).toBeNull();
  for (const event of [at(20), at(10), undated]) {
    const { key, subscription } = event;
    const { customerId, subscriptionId, createdSeconds } = subscription;
    const range = { fromSeconds: createdSeconds, toSeconds: createdSeconds };
    expect(eventsNeededFor(state, event)).toEqual({ key, customerId, subscriptionId, ...range });
  }
  const all = { fromSeconds: 0, toSeconds: 253_402_300_799 };
  expect(eventsNeededFor(dropped, other)).toMatchObject({ subscriptionId: 'sub_2', ...all });
});
