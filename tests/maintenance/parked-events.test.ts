import { type ApplicationId, createLogger } from 'instep';
import { findIssues } from 'instep/operate';
import { DatabaseBusy } from 'instep-engine/postgres';
import { findCustomers } from 'instep-engine/src/postgres/examine.ts';
import { PARKED_EVENTS } from 'instep-engine/src/repair/settle-jobs.ts';
import { expect, test } from 'vitest';
import { pagesOf } from '../support/internals/database.ts';
import type { Ingest, Settle } from '../support/internals/ingest.ts';
import { pruneCustomers } from '../support/internals/repair.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { createJobsWithoutStripe } from '../support/service/jobs-without-stripe.ts';
import { openPipeline, openWholePipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const { signal } = new AbortController();
const logger = createLogger('silent');

/** Parks one event each of this many customers without a team. */
async function parkMany(count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const ingest = openWholePipeline(store.database, { maxQueued: count }).ingest;
  await ingest(numbers.map((number) => receivedEvent({ customerId: `cus_foreign_${number}` })));
}

test('a customer who has a team now is found, page by page, even if many others have none', async () => {
  const { query } = store.database;
  await parkMany(12_000);
  await openPipeline(store.database)([receivedEvent({ customerId: 'cus_foreign_late' })]);
  await addTeam(query, { name: 'Late', customerId: 'cus_foreign_late' });
  const pages: (readonly string[])[] = [];
  const read = (afterId: ApplicationId | null) =>
    findCustomers(query, PARKED_EVENTS, { afterId, limit: 200, exceptIds: [] });
  for await (const page of pagesOf(read)) pages.push(page);
  expect(pages.length).toBeGreaterThan(2);
  expect(pages.flat()).toEqual(['cus_foreign_late']);
  await query('truncate teams, instep.events, instep.customers');
});

/** A customer whose event is parked, although a team is linked to it now. */
async function lateTeam(ingest: Ingest, productId: string) {
  const customerId = store.newCustomer();
  await ingest([receivedEvent({ customerId, productId })]);
  return { customerId, teamId: await addTeam(store.database.query, { name: 'Late', customerId }) };
}

test('a customer whose event is refused or whose team is locked delays no other', async () => {
  const { query } = store.database;
  await query(`alter table teams add constraint objection
               check (provider_product_id <> 'prod_refused')`);
  const { ingest, settle } = openWholePipeline(store.database, { timeoutMs: 500 });
  const tried: string[] = [];
  const noted: Settle = (customerId) => {
    tried.push(customerId);
    return settle(customerId);
  };
  const { parkedEvents: run } = openSettleJobs(store.database, { settle: noted });
  const refused = await lateTeam(ingest, 'prod_refused');
  const locked = await lateTeam(ingest, 'prod_1');
  await whileHeld(store.openAnother(), lockTeam(locked.teamId), async () => {
    const other = await lateTeam(ingest, 'prod_1');
    await run(signal);
    expect(new Set(tried)).toEqual(
      new Set([refused.customerId, locked.customerId, other.customerId]),
    );
    expect(await store.planOf(other.teamId)).toMatchObject({ subscriptionStatus: 'active' });
    tried.length = 0;
    const next = await lateTeam(ingest, 'prod_1');
    await run(signal);
    expect(tried).toEqual([next.customerId]);
  });
  await expect
    .poll(() => query('select customer_id as "customerId", problem from instep.findings'))
    .toEqual([{ customerId: refused.customerId, problem: 'plan refused' }]);
  await query('alter table teams drop constraint objection');
  await openSettleJobs(store.database).parkedEvents(signal);
  for (const { teamId } of [refused, locked]) {
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  }
});

test.each([
  ['fails', async () => Promise.reject(new DatabaseBusy('locked'))],
  ['is locked', async () => false],
])('a customer who %s is tried once in a run, even without a rest', async (_, answer) => {
  await store.database.query('truncate instep.events, instep.customers');
  await lateTeam(openPipeline(store.database), 'prod_1');
  const stopping = new AbortController();
  let tries = 0;
  const settle: Settle = () => {
    tries += 1;
    if (tries > 1) stopping.abort();
    return answer();
  };
  const { parkedEvents } = openSettleJobs(store.database, { settle, firstRestMs: 0 });
  await parkedEvents(stopping.signal);
  expect(tries).toBe(1);
});

/** Runs the job for a retention of 50 seconds. */
async function pruneExpired(now: () => number): Promise<void> {
  const services = { database: store.database, ingest: openPipeline(store.database), logger, now };
  const jobs = createJobsWithoutStripe(services, { eventRetentionMs: 50_000 });
  await jobs.find(({ name }) => name === 'retention')?.run(signal);
}

const parkedCustomers = async () =>
  (
    await store.database.query<{ customer_id: string }>(
      `select customer_id from instep.events
        where outcome = 'parked'
        order by position`,
    )
  ).map(({ customer_id }) => customer_id);

test('events of a customer who was dismissed raise no alert until a new one arrives, and count for the next team', async () => {
  await store.database.query('truncate instep.events, instep.customers');
  const { query } = store.database;
  const ingest = openPipeline(store.database);
  const { teamId, customerId } = await store.addTeam();
  await ingest([receivedEvent({ customerId, createdSeconds: 1_000 })]);
  await query('delete from teams where id = $1', [teamId]);
  await ingest([receivedEvent({ customerId, createdSeconds: 2_000, status: 'canceled' })]);
  const waiting = async () => {
    const { rows: issues } = await findIssues(store, { code: 'parked-events' }).page();
    return issues.map((issue) => issue.customerId);
  };
  expect(await waiting()).toEqual([customerId]);

  await query(
    `insert into instep.operator_actions (form_id, operator, operator_how, subject, action, is_done, outcome)
     values (gen_random_uuid(), 'ada', 'application', $1, 'dismiss', true, '{"code": "dismissed"}')`,
    [`customer:${customerId}`],
  );
  expect(await waiting()).toEqual([]);
  const later = eventBody({ customerId, createdSeconds: 2_001, status: 'canceled' });
  await ingest([received(later, Date.now() + 1_000)]);
  expect(await waiting()).toEqual([customerId]);

  const nextId = await addTeam(query, { name: 'Next', customerId });
  await openSettleJobs(store.database).parkedEvents(signal);
  expect(await store.planOf(nextId)).toMatchObject({ subscriptionStatus: 'canceled' });
});

test('customers that never had a team go with their last event, page by page', async () => {
  const { query } = store.database;
  await query('truncate instep.events, instep.customers');
  // More than one statement examines, most of which have a team.
  await parkMany(2_500);
  await query(`insert into teams (name, provider_customer_id)
               select '', 'cus_foreign_' || number from generate_series(1, 2100) as number`);
  const ingest = openPipeline(store.database);
  const later = Date.now() + 1_000_000;
  await ingest([received(eventBody({ customerId: 'cus_foreign_2500' }), later)]);
  const prune = () => pruneCustomers({ query, cutoffMs: later }, signal);
  expect(await prune()).toBe(399);
  expect(await prune()).toBe(0);
  expect(await parkedCustomers()).not.toContain('cus_foreign_2499');
  expect((await parkedCustomers()).slice(-2)).toEqual(['cus_foreign_2500', 'cus_foreign_2500']);
  await query(`delete from teams where provider_customer_id like 'cus_foreign_%'`);
  await query('truncate instep.events, instep.customers');
});

test('an instance whose clock has jumped ahead deletes no parked event', async () => {
  await store.database.query('truncate instep.events, instep.customers');
  await store.database.query(
    `update instep.leased_jobs set started_at = null where name = 'retention'`,
  );
  const ingest = openPipeline(store.database);
  await ingest([received(eventBody({ customerId: 'cus_new' }), Date.now())]);
  await pruneExpired(() => Date.now() + 100_000);
  expect(await parkedCustomers()).toEqual(['cus_new']);
});

test('parked events of a customer who had a team stay until a team is linked to that customer again', async () => {
  await store.database.query('truncate instep.events, instep.customers');
  await store.database.query(
    `update instep.leased_jobs set started_at = null where name = 'retention'`,
  );
  const { query } = store.database;
  const ingest = openPipeline(store.database);
  const customerId = 'cus_returning';
  const former = await addTeam(query, { name: 'Former', customerId });
  await ingest([receivedEvent({ customerId, createdSeconds: 1_000 })]);
  await query('delete from teams where id = $1', [former]);
  const end = eventBody({ customerId, status: 'canceled', createdSeconds: 2_000 });
  const nowMs = Date.now();
  await ingest([received(end, nowMs - 100_000)]);
  await pruneExpired(() => nowMs);
  expect(await parkedCustomers()).toEqual([customerId]);
  const again = await addTeam(query, { name: 'Again', customerId });
  await openSettleJobs(store.database).parkedEvents(signal);
  expect((await readTeam(query, again))?.plan).toMatchObject({ subscriptionStatus: 'canceled' });
});
