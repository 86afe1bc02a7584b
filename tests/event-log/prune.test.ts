import { beforeEach, describe, expect, test } from 'vitest';
import { pruneLog, readPrunedBefore } from '../support/internals/repair.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const { signal } = new AbortController();
const CREATED = 1_700_000_000;
/** All events of these tests are received at this time. */
const RECEIVED_MS = CREATED * 1_000;
const CUTOFF_MS = RECEIVED_MS + 1;

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const prune = (cutoffMs = CUTOFF_MS) =>
    pruneLog({ query: store.database.query, cutoffMs }, signal);

  beforeEach(() => store.database.query('truncate instep.events, instep.customers'));

  test('prunes events that no longer count, and keeps the rest', async () => {
    const { teamId, customerId } = await store.addTeam();
    const ingest = openPipeline(store.database);
    const deliver = async (eventId: string, fields: object, change: object = {}) => {
      const body = { ...JSON.parse(eventBody({ customerId, eventId, ...fields })), ...change };
      await ingest([received(JSON.stringify(body), RECEIVED_MS)]);
    };
    const at = (second: number, status: string) => ({ createdSeconds: CREATED + second, status });
    await deliver('older', at(1, 'trialing'));
    await deliver('before the newest', at(2, 'past_due'));
    const replaced = (status: string) => ({ previousAttributes: { status } });
    await deliver('of the newest second', { ...at(3, 'past_due'), ...replaced('trialing') });
    await deliver('newest', { ...at(3, 'active'), ...replaced('past_due') });
    await deliver('newer without effect', at(4, 'past_due'));
    await deliver('newest of another', { subscriptionId: 'sub_2', ...at(0, 'canceled') });
    await deliver('older than it was there', at(1, 'active'));
    await deliver('unreadable', at(9, 'active'), { data: null });
    await deliver('without created', { subscriptionId: 'sub_3' }, { created: null });
    await deliver('after it', { subscriptionId: 'sub_3', ...at(99, 'active') });
    const unlink = 'update teams set provider_customer_id = null where id = $1';
    await store.database.query(unlink, [teamId]);
    await deliver('parked', at(0, 'active'));
    const plan = await store.planOf(teamId);

    // Events received exactly at the cutoff stay.
    expect(await prune(RECEIVED_MS)).toBe(0);
    expect(await readPrunedBefore(store.database.query)).toBeNull();
    expect(await prune()).toBe(4);
    expect(await readPrunedBefore(store.database.query)).toBe(CUTOFF_MS);
    expect(await prune()).toBe(0);
    expect(
      await store.database.query('select event_id from instep.events order by position'),
    ).toEqual(
      [
        'before the newest',
        'of the newest second',
        'newest',
        'newer without effect',
        'newest of another',
        'without created',
        'after it',
      ].map((event_id) => ({ event_id })),
    );
    expect(await store.planOf(teamId)).toEqual(plan);
  });

  test('skips an event that another transaction has locked, and prunes it the next time', async () => {
    const { customerId } = await store.addTeam();
    const ingest = openPipeline(store.database);
    for (const second of [1, 2, 3, 4, 5, 6]) {
      await ingest([
        received(eventBody({ customerId, createdSeconds: CREATED + second }), RECEIVED_MS),
      ]);
    }
    await store.database.transaction(async (query) => {
      await query(
        `select from instep.events
          where customer_id = $1 and created_at = to_timestamp($2) for update`,
        [customerId, CREATED + 2],
      );
      expect(await prune()).toBe(2);
    });
    expect(await prune()).toBe(1);
    expect(await store.logOf(customerId)).toHaveLength(3);
  });

  test('prunes a long log to its end', async () => {
    await store.database.query(
      `insert into instep.events (key, type, received_at, deliveries, outcome, body)
       select gen_random_uuid(), 'customer.subscription.updated', to_timestamp($1), 1,
              'unreadable', ''
         from generate_series(1, 1700)`,
      [CREATED],
    );
    const { query } = store.database;
    expect(await pruneLog({ query, cutoffMs: CUTOFF_MS }, signal)).toBe(1_700);
    expect(await pruneLog({ query, cutoffMs: CUTOFF_MS }, AbortSignal.abort())).toBe(0);
  });
});
