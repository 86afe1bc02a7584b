import { readAccess } from 'instep/src/access/team-access.ts';
import { rebuild } from 'instep/src/event-log/rebuild.ts';
import {
  createLatestStatesJob,
  readLatestStatesFromLog,
} from 'instep/src/maintenance/latest-states.ts';
import { linkTeam, unlinkTeam } from 'instep/src/postgres/statements/lock-teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { describe, expect, test } from 'vitest';
import { lockTeam, untilWaiting, whileHeld } from '../support/postgres/locks.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const logger = createLogger('silent');
const at = (seconds: number) => new Date(seconds * 1_000);

describe.each(postgresServers)('the job latest-states on $name', (server) => {
  const store = useDatabase(server);
  const run = () =>
    createLatestStatesJob({ database: store.database, logger, clockMs: () => performance.now() })(
      new AbortController().signal,
    );

  /** Makes the rows of a customer as the migration made them. */
  const forget = (customerId: string) =>
    store.database.query(
      `update instep.subscriptions
          set latest_status = status, latest_created_at = created_at, latest_since = created_at,
              is_settled = false, is_from_log = false, quantity = null
        where customer_id = $1`,
      [customerId],
    );

  async function addPastDueTeam() {
    const { teamId, customerId } = await store.addTeam();
    const ingest = openPipeline(store.database);
    await ingest([receivedEvent({ customerId, createdSeconds: 1_000, status: 'active' })]);
    await ingest([receivedEvent({ customerId, createdSeconds: 2_000, status: 'past_due' })]);
    await ingest([receivedEvent({ customerId, createdSeconds: 3_000, status: 'past_due' })]);
    await forget(customerId);
    return { teamId, customerId, ingest };
  }

  test('reads the latest states from the log', async () => {
    const { teamId } = await addPastDueTeam();
    expect(await readAccess(store.database.query, teamId)).toMatchObject({ status: 'active' });
    await run();
    const expected = { status: 'past_due', since: at(2_000), quantity: 1 };
    expect(await readAccess(store.database.query, teamId)).toMatchObject(expected);
  });

  test('an event that arrives before the job counts in its place', async () => {
    const { teamId, customerId, ingest } = await addPastDueTeam();
    await ingest([receivedEvent({ customerId, createdSeconds: 1_500, status: 'trialing' })]);
    const expected = { status: 'past_due', since: at(2_000) };
    expect(await readAccess(store.database.query, teamId)).toMatchObject(expected);
    await run();
    expect(await readAccess(store.database.query, teamId)).toMatchObject(expected);
  });

  test('an event that arrives before the job counts after all events of the log', async () => {
    const { teamId, customerId, ingest } = await addPastDueTeam();
    const events = Array.from({ length: 120 }, (_, index) =>
      receivedEvent({ customerId, createdSeconds: 4_000 + index, status: 'past_due' }),
    );
    await ingest(events);
    await forget(customerId);
    await ingest([receivedEvent({ customerId, createdSeconds: 5_000, status: 'past_due' })]);
    const expected = { status: 'past_due', since: at(2_000) };
    expect(await readAccess(store.database.query, teamId)).toMatchObject(expected);
  });

  test('an event counts after those that only an instance of an earlier version stored', async () => {
    const { teamId, customerId, ingest } = await addPastDueTeam();
    await ingest([receivedEvent({ customerId, createdSeconds: 4_000, status: 'active' })]);
    await ingest([receivedEvent({ customerId, createdSeconds: 5_000, status: 'past_due' })]);
    // The row was up to date before the event that made the subscription active again.
    await store.database.query(
      `update instep.subscriptions
          set latest_status = 'past_due', latest_created_at = to_timestamp(3000),
              latest_since = to_timestamp(2000)
        where customer_id = $1`,
      [customerId],
    );
    await ingest([receivedEvent({ customerId, createdSeconds: 6_000, status: 'past_due' })]);
    const expected = { status: 'past_due', since: at(5_000) };
    expect(await readAccess(store.database.query, teamId)).toMatchObject(expected);
  });

  test('a rebuild repairs the begin of a status, unless the log was pruned', async () => {
    const { query } = store.database;
    const { teamId } = await addPastDueTeam();
    await run();
    const repaired = async () => {
      await query('update instep.subscriptions set latest_since = to_timestamp(3000)');
      const options = { planSelection: 'newest', isDryRun: false } as const;
      for await (const { isKept } of rebuild(store.database, options)) expect(isKept).toBe(false);
      return (await readAccess(query, teamId))?.since;
    };
    expect(await repaired()).toEqual(at(2_000));
    await query('update instep.pruning set pruned_before = to_timestamp(2500)');
    expect(await repaired()).toEqual(at(3_000));
  });

  test('a row without any event in the log stays as it is', async () => {
    const { teamId, customerId } = await addPastDueTeam();
    await store.database.query('delete from instep.events where customer_id = $1', [customerId]);
    await run();
    expect(await readAccess(store.database.query, teamId)).toMatchObject({ status: 'active' });
    const left = await store.database.query(
      'select customer_id from instep.subscriptions where not is_from_log',
    );
    expect(left).toEqual([]);
  });

  test('a locked team delays no others, and more than one page is read at once', async () => {
    const { teamId, customerId } = await addPastDueTeam();
    const other = await addPastDueTeam();
    await store.database.query(
      `insert into instep.subscriptions
              (customer_id, subscription_id, is_order_ambiguous, latest_status, latest_created_at,
               latest_since, is_settled, is_from_log)
       select 'cus_' || number, '', false, 'active', now(), now(), false, false
         from generate_series(1, 60) as number`,
    );
    const job = createLatestStatesJob({ database: store.database, logger, clockMs: () => 0 });
    await whileHeld(store.openAnother(), lockTeam(teamId), async () => {
      await job(new AbortController().signal);
    });
    const left = await store.database.query<{ customer_id: string }>(
      'select customer_id from instep.subscriptions where not is_from_log',
    );
    expect(left).toEqual([{ customer_id: customerId }]);
    const access = await readAccess(store.database.query, other.teamId);
    expect(access).toMatchObject({ status: 'past_due' });
  });

  test('keeps a newer state of a customer who gets a team meanwhile', async () => {
    const { database } = store;
    const { teamId, customerId, ingest } = await addPastDueTeam();
    await unlinkTeam(database.query, teamId, customerId);
    let delivered: Promise<unknown> = Promise.resolve();
    await store.openAnother().transaction((query) =>
      readLatestStatesFromLog(async (statement, values) => {
        if (typeof statement === 'object' && statement.name === 'write_subscriptions') {
          await linkTeam(database.query, teamId, customerId);
          const event = receivedEvent({ customerId, createdSeconds: 4_000, status: 'paused' });
          delivered = ingest([event]);
          await Promise.race([delivered, untilWaiting(database)]);
        }
        return query(statement, values);
      }, customerId),
    );
    await delivered;
    expect(await readAccess(database.query, teamId)).toMatchObject({ status: 'paused' });
  });
});
