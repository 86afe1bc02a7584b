import type { ReceivedEvent } from 'instep/src/ingest/received-event.ts';
import { recognize } from 'instep/src/ingest/recognize.ts';
import { describe, expect, test } from 'vitest';
import { eventBody, received } from '../support/stripe/events.ts';

const ONE = { eventId: 'evt_one', createdSeconds: 1_700_000_000 };

/** An event as Stripe lists it. */
const listed = (body: string): ReceivedEvent => ({ ...received(body), source: 'list' });

/** The same event in another API version: with other members, in another order. */
function inOtherVersion(body: string): string {
  const { data, ...event } = JSON.parse(body);
  const { items: _, ...object } = data.object;
  const plan = { id: 'plan_1', product: 'prod_1' };
  const items = { data: [{ plan }] };
  return JSON.stringify({
    ...event,
    api_version: '2020-08-27',
    data: { object: { items, ...object } },
  });
}

const outcomesOf = (events: readonly ReceivedEvent[]) => {
  const keys = recognize(events, []).map(({ key }) => key);
  return keys.map((key, index) => (keys.indexOf(key) < index ? 'known' : 'new'));
};

describe('an event that is listed and delivered', () => {
  const body = eventBody(ONE);

  test.each([
    ['the same body', body],
    ['different whitespace', JSON.stringify(JSON.parse(body), null, 2)],
    ['another API version', inOtherVersion(body)],
  ])('is one event, whichever arrived first, in %s', (_, other) => {
    expect(outcomesOf([received(body), listed(other)])).toEqual(['new', 'known']);
    expect(outcomesOf([listed(other), received(body)])).toEqual(['new', 'known']);
    expect(outcomesOf([listed(other), received(body), received(other), listed(body)])).toEqual([
      'new',
      'known',
      'known',
      'known',
    ]);
  });

  test('keeps its first key', () => {
    const [first, second] = [received(body), listed(inOtherVersion(body))];
    expect(recognize([second], [first])).toMatchObject([{ key: first.key, source: 'list' }]);
    expect(recognize([first], [second])).toMatchObject([{ key: second.key, source: 'delivery' }]);
  });
});

test('an event is the same with its members in another order, and with another value it is not', () => {
  const { data, ...event } = JSON.parse(eventBody(ONE));
  const object = Object.fromEntries(Object.entries(data.object).reverse());
  const reordered = received(JSON.stringify({ data: { object }, ...event }));
  const other = received(JSON.stringify({ data: { object: { ...object, x: 1 } }, ...event }));
  const first = received(eventBody(ONE));
  expect(reordered.key).not.toBe(first.key);
  expect(outcomesOf([first, reordered, other])).toEqual(['new', 'known', 'new']);
  expect(recognize([reordered], [first])).toMatchObject([{ key: first.key }]);
});

test('a listed event is recognized by its id alone, without the body of the logged one', () => {
  const body = eventBody(ONE);
  const { key, eventId } = received(body);
  expect(recognize([listed(inOtherVersion(body))], [{ key, eventId }])).toMatchObject([{ key }]);
  expect(recognize([received(inOtherVersion(body))], [{ key, eventId }])[0]?.key).not.toBe(key);
});

describe('an event that two endpoints with two API versions deliver', () => {
  const body = eventBody(ONE);

  test('is one event, whichever arrived first', () => {
    const other = received(inOtherVersion(body));
    expect(outcomesOf([received(body), other, received(body), other])).toEqual([
      'new',
      'known',
      'known',
      'known',
    ]);
    expect(outcomesOf([other, received(body), other])).toEqual(['new', 'known', 'known']);
  });

  test('differs from an event of another type with the same id', () => {
    const deleted = eventBody({ ...ONE, type: 'customer.subscription.deleted' });
    const events = [received(body), received(inOtherVersion(deleted))];
    expect(outcomesOf(events)).toEqual(['new', 'new']);
  });
});

test('fixtures that share an id and an API version are different events', () => {
  const canceled = eventBody({ ...ONE, status: 'canceled' });
  expect(outcomesOf([received(eventBody(ONE)), received(canceled)])).toEqual(['new', 'new']);
});

test.each([
  ['id', { eventId: 'evt_two' }],
  ['second', { createdSeconds: ONE.createdSeconds + 1 }],
  ['subscription', { subscriptionId: 'sub_two' }],
])('a listed event with another %s is a different event', (_, other) => {
  const events = [listed(eventBody(ONE)), listed(eventBody({ ...ONE, ...other }))];
  expect(outcomesOf(events)).toEqual(['new', 'new']);
});

test('an unreadable event keeps its key when it is listed again', () => {
  const event = JSON.parse(eventBody(ONE));
  const unreadable = (pending_webhooks: number) =>
    listed(JSON.stringify({ ...event, data: null, pending_webhooks }));
  expect(outcomesOf([unreadable(1), unreadable(0)])).toEqual(['new', 'known']);
});

test('events with one id are compared however deeply they are nested', () => {
  const nested = (depth: number, count: number) => {
    const { data, ...event } = JSON.parse(eventBody(ONE));
    const body = JSON.stringify({
      ...event,
      data: { object: { ...data.object, deep: 'here', count } },
    });
    return received(body.replace('"here"', '['.repeat(depth) + ']'.repeat(depth)));
  };
  const kinds = new Set<string>();
  for (let depth = 500; depth <= 8_000; depth += 500) {
    const events = [nested(depth, 1), nested(depth, 2)];
    for (const { kind } of events) kinds.add(kind);
    expect(recognize(events, [])).toEqual(events);
  }
  expect(kinds).toEqual(new Set(['readable', 'unreadable']));
});
