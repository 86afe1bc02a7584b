import { KnownEvents } from 'instep-engine/rule';
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
