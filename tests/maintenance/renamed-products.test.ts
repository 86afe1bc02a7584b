import { createLogger } from 'instep';
import { DatabaseUnavailable } from 'instep-engine/postgres';
import { applyProductNames } from 'instep-engine/src/repair/plan-names.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Database, Query } from '../support/internals/database.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { openAskingJob, passTime } from '../support/service/asking-job.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const run = (statement: string) => store.database.query(statement);

/** The product's name at Stripe. */
let name: string;

beforeEach(async () => {
  name = 'Old';
  await run('truncate teams, instep.products');
});

afterEach(() => void vi.useRealTimers());

async function addTeams(count: number): Promise<void> {
  await run(
    `insert into teams (name, provider_product_id, plan_name, subscription_status)
     select 'Team', 'prod_renamed', 'Old', 'active' from generate_series(1, ${count})`,
  );
}

const openLookUp = () =>
  openAskingJob({ database: store.database, api: { retrieveProductName: async () => name } });

async function maintain(
  query: Query = store.database.query,
  { signal } = new AbortController(),
): Promise<void> {
  const database: Pick<Database, 'query' | 'transaction'> = {
    query,
    transaction: (work, options) =>
      store.database.transaction(async (within) => {
        // Statements that a test counts, or that fail, are those of its own query.
        const watched: Query = (statement, values) =>
          query === store.database.query ? within(statement, values) : query(statement, values);
        return await work(watched);
      }, options),
  };
  await passTime(store.database.query, '1 day');
  await openLookUp()();
  await applyProductNames({ database, logger: createLogger('silent') }, signal);
}

/** Renames the product, and makes the stored name a day old, so that it is looked up again. */
async function rename(): Promise<void> {
  await run(
    `insert into instep.products (product_id, name, looked_up_at)
     values ('prod_renamed', 'Old', now() - interval '1 day')`,
  );
  name = 'New';
}

const isRename = (statement: Parameters<Query>[0]) =>
  typeof statement !== 'string' && statement.name === 'lock_team_to_name';

async function planNames(): Promise<Record<string, number>> {
  const rows = await store.database.query<{ plan_name: string; count: number }>(
    'select plan_name, count(*) as count from teams group by plan_name',
  );
  return Object.fromEntries(rows.map((row) => [row.plan_name, row.count]));
}

test("a locked team's plan is renamed later, and delays no other team", async () => {
  await addTeams(3);
  await rename();
  const [team] = await store.database.query<{ id: number }>('select min(id) as id from teams');
  await whileHeld(store.openAnother(), lockTeam(team?.id ?? 0), async () => {
    await maintain();
    expect(await planNames()).toEqual({ New: 2, Old: 1 });
  });
  await maintain();
  expect(await planNames()).toEqual({ New: 3 });
});

test('teams whose trigger keeps the former name are not renamed endlessly', async () => {
  await addTeams(3);
  await rename();
  await run(`
    create function keep_name() returns trigger language plpgsql as
      $$begin new.plan_name := old.plan_name; return new; end$$`);
  await run(`create trigger keep_name before update on teams for each row
             execute function keep_name()`);
  const stopping = new AbortController();
  let tries = 0;
  const counting: Query = (statement, values) => {
    if (isRename(statement)) tries += 1;
    if (tries > 9) stopping.abort();
    return store.database.query(statement, values);
  };
  await maintain(counting, stopping);
  await run('drop function keep_name cascade');
  expect(tries).toBe(3);
});

test('a rename that a failure interrupted is continued', async () => {
  await addTeams(3);
  await rename();
  const failing: Query = async (statement, values) => {
    if (isRename(statement)) throw new DatabaseUnavailable('failover');
    return await store.database.query(statement, values);
  };
  await expect(maintain(failing)).rejects.toThrow('failover');
  await run(`update instep.products set looked_up_at = now() - interval '5 minutes'`);
  await maintain();
  expect(await planNames()).toEqual({ New: 3 });
});

test('several renames in a row end with the last name', async () => {
  await addTeams(1);
  await rename();
  await whileHeld(store.openAnother(), 'select from teams for update', async () => {
    await maintain();
    await run(`update instep.products set looked_up_at = now() - interval '1 day'`);
    name = 'Newest';
    await maintain();
    expect(await planNames()).toEqual({ Old: 1 });
  });
  await maintain();
  expect(await planNames()).toEqual({ Newest: 1 });
});

test('another instance does not bring the former name back once the rename is complete', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const ingest = openPipeline(store.openAnother(), async () => name);
  const { customerId } = await store.addTeam();
  const renew = (createdSeconds: number) =>
    ingest([receivedEvent({ customerId, productId: 'prod_renamed', createdSeconds })]);
  await renew(1_000);
  await run(`update instep.products set looked_up_at = now() - interval '1 day'`);
  name = 'New';
  await maintain();
  await run(`update instep.products set looked_up_at = now() - interval '61 seconds'`);
  vi.advanceTimersByTime(61_000);
  await maintain();
  await renew(2_000);
  await maintain();
  expect(await planNames()).toEqual({ New: 1 });
});

test('a name that the table refuses is not written again after a minute', async () => {
  await addTeams(1);
  await rename();
  await run(`alter table teams add constraint short check (plan_name <> 'New')`);
  try {
    await maintain();
    await run(`update instep.products set looked_up_at = now() - interval '5 minutes'`);
    await maintain();
    let attempts = 0;
    await maintain((statement, values) => {
      if (isRename(statement)) attempts += 1;
      return store.database.query(statement, values);
    });
    expect(attempts).toBe(0);
    expect(await planNames()).toEqual({ Old: 1 });
  } finally {
    await run('alter table teams drop constraint short');
  }
});
