import { describe, expect, test } from 'vitest';
import type { ReceivedEvent } from '../../src/ingest/received-event.ts';
import { recognize } from '../../src/ingest/recognize.ts';
import { readListedEvent } from '../../src/stripe/listed-event.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const ONE = { eventId: 'evt_one', createdSeconds: 1_700_000_000 };

/** An event as Stripe lists it. */
function listed(body: string): ReceivedEvent {
  const receivedAtMs = 1_700_000_100_000;
  const read = readListedEvent(JSON.parse(body), { receivedAtMs, nonce: () => 'nonce' });
  if (read === null) throw new RangeError('not handled');
  return { ...read.event, body: read.body, receivedAtMs, source: 'list' };
}

/** The same event in the words of another API version: with other members, in another order. */
function inOtherWords(body: string): string {
  const { data, ...event } = JSON.parse(body);
  const { items: _, ...object } = data.object;
  const plan = { id: 'plan_1', product: 'prod_1' };
  return JSON.stringify({ ...event, data: { object: { items: { data: [{ plan }] }, ...object } } });
}

const outcomesOf = (events: readonly ReceivedEvent[]) => {
  const keys = recognize(events, []).map(({ key }) => key);
  return keys.map((key, index) => (keys.indexOf(key) < index ? 'known' : 'new'));
};

describe('an event that is listed and delivered', () => {
  const body = eventBody(ONE);

  test.each([
    ['the same words', body],
    ['white space', JSON.stringify(JSON.parse(body), null, 2)],
    ['the words of another API version', inOtherWords(body)],
  ])('is one event, whichever came first, but for %s', (_, other) => {
    expect(outcomesOf([received(body), listed(other)])).toEqual(['new', 'known']);
    expect(outcomesOf([listed(other), received(body)])).toEqual(['new', 'known']);
    expect(outcomesOf([listed(other), received(body), received(other), listed(body)])).toEqual([
      'new',
      'known',
      'known',
      'known',
    ]);
  });

  test('has in the log the key that it had first', () => {
    const [first, second] = [received(body), listed(inOtherWords(body))];
    expect(recognize([second], [first])).toMatchObject([{ key: first.key, source: 'list' }]);
    expect(recognize([first], [second])).toMatchObject([{ key: second.key, source: 'delivery' }]);
  });
});

test('events that share an id as fixtures do are several, as long as none of them was listed', () => {
  const canceled = eventBody({ ...ONE, status: 'canceled' });
  expect(outcomesOf([received(eventBody(ONE)), received(canceled)])).toEqual(['new', 'new']);
});

test.each([
  ['id', { eventId: 'evt_two' }],
  ['second', { createdSeconds: ONE.createdSeconds + 1 }],
  ['subscription', { subscriptionId: 'sub_two' }],
])('of another %s it is another event', (_, other) => {
  const events = [listed(eventBody(ONE)), listed(eventBody({ ...ONE, ...other }))];
  expect(outcomesOf(events)).toEqual(['new', 'new']);
});

test('what cannot be read is known by its id when it is listed again', () => {
  const event = JSON.parse(eventBody(ONE));
  const unreadable = (pending_webhooks: number) =>
    listed(JSON.stringify({ ...event, data: null, pending_webhooks }));
  expect(outcomesOf([unreadable(1), unreadable(0)])).toEqual(['new', 'known']);
});

test('what is of another type is left out', () => {
  const event = JSON.parse(eventBody({ type: 'invoice.paid' }));
  expect(readListedEvent(event, { receivedAtMs: 0, nonce: () => '' })).toBeNull();
});
