import { describe, expect, test } from 'vitest';
import type { LogEvent } from '../support/internals/ingest.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

const ONE = { eventId: 'evt_one', createdSeconds: 1_700_000_000, customerId: 'cus_1' };

/** An event as Stripe lists it. */
const listed = (body: string): LogEvent => ({ ...received(body), source: 'list' });

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

/** Ingests events of a customer, in one batch or one after the other, and returns which of them the log knew. */
async function outcomesOf(
  events: readonly LogEvent[],
  arrival: 'one by one' | 'in a batch',
): Promise<string[]> {
  await store.database.query('truncate instep.events, instep.customers, teams');
  const { query } = store.database;
  await query(`insert into teams (name, provider_customer_id) values ('Team', 'cus_1')`);
  const ingest = openPipeline(store.database);
  // An event that arrives first forms a batch by itself; the others arrive meanwhile.
  const first = received(eventBody({ customerId: 'cus_first' }));
  const batches = arrival === 'in a batch' ? [[first, ...events]] : events.map((event) => [event]);
  const results = [];
  for (const batch of batches) results.push(...(await ingest(batch)));
  return results
    .slice(-events.length)
    .map(({ outcome }) => (outcome === 'duplicate' ? 'known' : 'new'));
}

describe.each(['one by one', 'in a batch'] as const)('%s', (arrival) => {
  const body = eventBody(ONE);

  test.each([
    ['the same body', body],
    ['different whitespace', JSON.stringify(JSON.parse(body), null, 2)],
    ['another API version', inOtherVersion(body)],
  ])('an event that is listed and delivered is one, in %s', async (_, other) => {
    expect(await outcomesOf([received(body), listed(other)], arrival)).toEqual(['new', 'known']);
    expect(await outcomesOf([listed(other), received(body)], arrival)).toEqual(['new', 'known']);
    const all = [listed(other), received(body), received(other), listed(body)];
    expect(await outcomesOf(all, arrival)).toEqual(['new', 'known', 'known', 'known']);
    expect(await store.logOf('cus_1')).toMatchObject([{ event_id: 'evt_one', deliveries: 2 }]);
  });

  test('an unreadable event is known when it is listed again', async () => {
    const unreadable = (pending_webhooks: number) =>
      listed(JSON.stringify({ ...JSON.parse(body), data: null, pending_webhooks }));
    const events = [unreadable(1), unreadable(0)];
    expect(await outcomesOf(events, arrival)).toEqual(['new', 'known']);
  });

  test('events with one id are compared however deeply they are nested', async () => {
    const nested = (depth: number, count: number) => {
      const { data, ...event } = JSON.parse(body);
      const object = { ...data.object, deep: 'here', count };
      const text = JSON.stringify({ ...event, data: { object } });
      return received(text.replace('"here"', '['.repeat(depth) + ']'.repeat(depth)));
    };
    const kinds = new Set<string>();
    for (let depth = 500; depth <= 8_000; depth += 1_500) {
      const events = [nested(depth, 1), nested(depth, 2)];
      for (const { kind } of events) kinds.add(kind);
      expect(await outcomesOf(events, arrival)).toEqual(['new', 'new']);
    }
    expect(kinds).toEqual(new Set(['readable', 'unreadable']));
  });
});
