import { beforeEach, expect, test } from 'vitest';
import type { Query } from '../support/internals/database.ts';
import { pruneChangesJobs } from '../support/internals/repair.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

const store = useDatabase(embeddedServer);
const DAY_MS = 86_400_000;

/** Runs the job that deletes old changes; returns whether there is one. */
async function prune({
  now = Date.now,
  retentionMs = (730 * DAY_MS) as number | null,
  database = store.database,
  signal = new AbortController().signal,
} = {}) {
  const services = { query: database.query, now, holder: 'holder' };
  const [job] = pruneChangesJobs(services, retentionMs);
  await job?.run(signal);
  return job !== undefined;
}

const write = (teamId: string, daysAgo: number, count = 1) =>
  store.database.query(
    `insert into instep.plan_changes (team_id, cause, changed_at, subscription_status_after)
     select $1, 'event', now() - $2 * interval '1 day', 'active'
       from generate_series(1, $3)`,
    [teamId, daysAgo, count],
  );
const teams = async () =>
  (
    await store.database.query<{ team_id: string }>(
      'select distinct team_id from instep.plan_changes order by team_id',
    )
  ).map(({ team_id }) => team_id);

beforeEach(async () => {
  await store.database.query('truncate instep.plan_changes cascade');
  await store.database.query(`update instep.leased_jobs set started_at = null, ended_at = null`);
  await write('old', 731, 2_500);
  await write('kept', 729);
});

test('changes are deleted after the retention, and not before', async () => {
  expect(await prune()).toBe(true);
  expect(await teams()).toEqual(['kept']);
});

test('what a consumer has not handled is kept until it has', async () => {
  const { query } = store.database;
  const ids = await query<{ id: number }>(
    `select id from instep.plan_changes where team_id = 'old' order by id`,
  );
  await query(`insert into instep.plan_change_consumers (name, position) values ('mailer', $1)`, [
    ids[999]?.id,
  ]);
  await query(
    `insert into instep.waiting_plan_changes (change_id, consumer, team_id, retry_at, set_aside_at)
     values ($1, 'mailer', 'old', now(), now())`,
    [ids[9]?.id],
  );
  await prune();
  const left = `select from instep.plan_changes where team_id = 'old'`;
  expect(await query(left)).toHaveLength(1_501);
  await query('delete from instep.plan_change_consumers');
  await query('update instep.leased_jobs set started_at = null, ended_at = null');
  await prune();
  expect(await teams()).toEqual(['kept']);
});

test('a clock that is ahead of the database deletes nothing before', async () => {
  await prune({ now: () => Date.now() + 100 * DAY_MS });
  expect(await teams()).toEqual(['kept']);
});

test('without a retention, nothing is deleted', async () => {
  expect(await prune({ retentionMs: null })).toBe(false);
  expect(await teams()).toEqual(['kept', 'old']);
});

test('when it is stopped, it deletes no more, and continues later', async () => {
  const stopping = new AbortController();
  const query: Query = async (statement, values) => {
    if (typeof statement !== 'string' && statement.name === 'prune_changes') stopping.abort();
    return await store.database.query(statement, values);
  };
  await prune({ database: { ...store.database, query }, signal: stopping.signal });
  expect(await store.database.query('select from instep.plan_changes')).toHaveLength(1_501);
  await prune();
  expect(await teams()).toEqual(['kept']);
});
