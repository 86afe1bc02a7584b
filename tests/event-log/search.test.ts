import type { EventFilter, SortOrder } from 'instep/operate';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Query } from '../support/internals/database.ts';
import { pruneEvents, searchLog } from '../support/internals/repair.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { indexesUsed, rowsRead } from '../support/stripe/plans.ts';

/** More events than one statement examines. */
const COUNT = 120_000;
const START_MS = Date.UTC(2026, 0, 1);
/** A gap between two positions, as duplicates leave it. */
const GAP = 200_000;

/** One event per second, the n-th at position n, and each of the last ten after a gap. */
const INSERT = `
  insert into instep.events (position, key, event_id, type, customer_id, subscription_id,
                             created_at, received_at, deliveries, outcome, body)
  select case when n > $1 - 10 then n + $3::bigint * (n - $1 + 10) else n end,
         gen_random_uuid(), 'evt_' || n, 'customer.subscription.updated',
         'cus_' || n % 1000, 'sub_1', to_timestamp($2 + n), to_timestamp($2 + n), 1,
         case n when 5 then 'unreadable' else 'applied' end, ''
    from generate_series(1, $1) as n`;

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const query: Query = (...args) => store.database.query(...args);

  beforeAll(async () => {
    await query(INSERT, [COUNT, START_MS / 1_000, GAP]);
    await query('vacuum analyze instep.events');
  });

  async function search(filter: EventFilter, order: SortOrder, limit = 1_000): Promise<number[]> {
    const found: number[] = [];
    for await (const { eventId } of searchLog(query, filter, order)) {
      found.push(Number(eventId?.replace('evt_', '')));
      if (found.length === limit) break;
    }
    return found;
  }

  test('searches in both orders, over many pages and gaps', async () => {
    const all = await search({}, 'oldest first', COUNT + 1);
    expect(all).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
    expect(await search({}, 'newest first', 300)).toEqual(all.slice(-300).reverse());
  });

  test('filters by customer, outcome and subscription', async () => {
    const newest = await search({ customerId: 'cus_7' }, 'newest first');
    expect(newest).toHaveLength(COUNT / 1_000);
    expect(newest.slice(0, 2)).toEqual([COUNT - 993, COUNT - 1_993]);
    expect(await search({ customerId: 'cus_7' }, 'oldest first')).toEqual(newest.reverse());
    expect(await search({ outcome: 'unreadable' }, 'newest first')).toEqual([5]);
    expect(await search({ customerId: 'cus_5', outcome: 'unreadable' }, 'oldest first')).toEqual([
      5,
    ]);
    expect(await search({ subscriptionId: 'sub_2' }, 'newest first')).toEqual([]);
  });

  test('searches since a time, and not further back than necessary', async () => {
    const sinceMs = START_MS + (COUNT - 400) * 1_000;
    const expected = Array.from({ length: 401 }, (_, index) => COUNT - 400 + index);
    expect(await search({ sinceMs }, 'oldest first')).toEqual(expected);
    expect(await search({ sinceMs, customerId: 'cus_999' }, 'newest first')).toEqual([COUNT - 1]);

    let statements = 0;
    const counting: Query = (...args) => {
      statements += 1;
      return query(...args);
    };
    for await (const _ of searchLog(counting, { sinceMs, outcome: 'stale' }, 'newest first'));
    expect(statements).toBe(1);
  });

  test.each<[string, EventFilter]>([
    ['the newest events', {}],
    ['those of a customer', { customerId: 'cus_7' }],
    ['those with an outcome', { outcome: 'applied' }],
    ['those that wait for a team', { outcome: 'parked' }],
    ['those since a time', { sinceMs: START_MS }],
    ['those with an id', { eventId: 'evt_119000' }],
  ])('reads %s by an index, up to a number of events', async (_, filter) => {
    const work = async (explaining: Query) => {
      for await (const _ of searchLog(explaining, filter, 'newest first')) break;
    };
    const used = await indexesUsed(store.database, work);
    expect([...used].filter((name) => name.startsWith('all of'))).toEqual([]);
    // A part of the log, its first and last event, and those that are returned.
    expect(await rowsRead(store.database, 'events', work)).toBeLessThan(5_000 + 1_000);
  });

  test('uses indexes to prune', async () => {
    const step = { after: 50_000, cutoffMs: START_MS + COUNT * 1_000 };
    const used = await indexesUsed(store.database, (explaining) => pruneEvents(explaining, step));
    // This table has one row.
    used.delete('all of pruning');
    // Where no customer has a state yet, no product has a name.
    used.delete('products_pkey');
    // Nearly all customers have the same rules, so PostgreSQL 18 skips this first column as it likes.
    used.delete('customers_by_access_rules');
    expect([...used].sort()).toEqual(['customers_pkey', 'events_of_customer', 'events_pkey']);
  });
});
