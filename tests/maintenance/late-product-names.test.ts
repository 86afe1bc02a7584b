import { beforeEach, expect, test } from 'vitest';
import { addTeam, writeProductName } from '../support/internals/rows.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const run = (statement: string) => store.database.query(statement);
const signal = new AbortController().signal;

beforeEach(() =>
  run('truncate teams, instep.customers, instep.products, instep.plan_changes cascade'),
);

/** Teams with a plan whose product has no name yet, and their job. */
async function namelessTeams(count: number) {
  const ingest = openPipeline(store.database);
  const teams = [];
  for (let added = 0; added < count; added += 1) {
    const team = await store.addTeam();
    await ingest([receivedEvent({ customerId: team.customerId, productId: 'prod_late' })]);
    teams.push(team);
  }
  const { planNames } = openSettleJobs(store.database, { firstRestMs: 0 });
  return { teams, job: () => planNames(signal) };
}

async function planNames(): Promise<Record<string, number>> {
  const rows = await store.database.query<{ plan_name: string | null; count: number }>(
    'select plan_name, count(*) as count from teams group by plan_name',
  );
  return Object.fromEntries(rows.map((row) => [row.plan_name, row.count]));
}

async function causes(): Promise<string[]> {
  const statement = 'select cause from instep.plan_changes order by id';
  return (await store.database.query<{ cause: string }>(statement)).map(({ cause }) => cause);
}

test('teams get the name of their plan once it is known, and a locked team delays no other', async () => {
  const { teams, job } = await namelessTeams(3);
  await job();
  expect(await planNames()).toEqual({ null: 3 });
  await writeProductName(store.database.query, 'prod_late', 'Late');
  await whileHeld(store.openAnother(), lockTeam(teams[0]?.teamId ?? 0), async () => {
    await job();
    expect(await planNames()).toEqual({ Late: 2, null: 1 });
  });
  await job();
  expect(await planNames()).toEqual({ Late: 3 });
});

test.each([
  ['an event without an effect', { status: 'past_due' }],
  ['a late event', { createdSeconds: 1 }],
])('%s gives the team the name that is known by now', async (_, fields) => {
  const { teams } = await namelessTeams(1);
  await writeProductName(store.database.query, 'prod_late', 'Late');
  const customerId = teams[0]?.customerId ?? '';
  await openPipeline(store.database)([
    receivedEvent({ customerId, productId: 'prod_late', ...fields }),
  ]);
  expect(await planNames()).toEqual({ Late: 1 });
  expect(await causes()).toEqual(['event', 'name']);
});

test('a customer that gets a second team has no team without the name', async () => {
  const { teams } = await namelessTeams(1);
  await writeProductName(store.database.query, 'prod_late', 'Late');
  await run('alter table teams drop constraint teams_provider_customer_id_key');
  await addTeam(store.database.query, { name: 'Second', customerId: teams[0]?.customerId ?? '' });
  await openSettleJobs(store.database).emptyTeams(signal);
  expect(await planNames()).toEqual({ Late: 2 });
  expect(await causes()).toEqual(['event', 'name', 'link']);
});

test('a plan that the app changed meanwhile keeps the name that the app gave it', async () => {
  const { job } = await namelessTeams(1);
  await run(`update teams set provider_product_id = 'prod_gift', plan_name = 'Gift'`);
  await writeProductName(store.database.query, 'prod_late', 'Late');
  await job();
  expect(await planNames()).toEqual({ Gift: 1 });
});

test('a name that the table refuses is not written again', async () => {
  const { job } = await namelessTeams(1);
  await writeProductName(store.database.query, 'prod_late', 'Late');
  await run(`alter table teams add constraint short check (plan_name <> 'Late')`);
  await job();
  await run('alter table teams drop constraint short');
  await job();
  expect(await planNames()).toEqual({ null: 1 });
});
