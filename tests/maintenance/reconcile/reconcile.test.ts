import { createLogger } from 'instep';
import type { ReconciliationIssue } from 'instep/operate';
import { DatabaseBusy, DatabaseRefused } from 'instep-engine/postgres';
import { asObject, type Json } from 'instep-engine/rule';
import { Stopped } from 'instep-engine/runtime';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../support/internals/database.ts';
import type { Ingest } from '../../support/internals/ingest.ts';
import {
  createReconcileJob,
  reconcile,
  reconcileCustomer,
} from '../../support/internals/repair.ts';
import {
  type StripeApi,
  StripeApiFailed,
  type StripePage,
} from '../../support/internals/stripe.ts';
import { lockTeam, whileHeld } from '../../support/postgres/locks.ts';
import { embeddedServer } from '../../support/postgres/test-database.ts';
import { useDatabase } from '../../support/service/ingest-service.ts';
import { openPipeline, openWholePipeline } from '../../support/service/pipelines.ts';
import { eventBody, receivedEvent } from '../../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

beforeEach(async () => {
  const { query } = store.database;
  await query('truncate teams, instep.customers, instep.events, instep.asked_customers');
  await query(`update instep.leased_jobs set holder = null, held_until = null, progress = null`);
});

const subscriptionOf = (customerId: string, members: object = {}): Json => ({
  ...JSON.parse(eventBody({ customerId, subscriptionId: `sub_of_${customerId}` })).data.object,
  ...members,
});

const page = (objects: readonly Json[], hasMore = false): StripePage => ({
  objects,
  hasMore,
  answeredSeconds: null,
  tookMs: 0,
});

/** Stripe's list on these pages. Calls for a customer are noted. */
function listOf(...pages: readonly (readonly Json[])[]) {
  const asked: string[] = [];
  const list: StripeApi['listSubscriptions'] = async ({ customerId, cursor }) => {
    if (customerId !== undefined) {
      asked.push(customerId);
      return page(pages.flat().filter((object) => asObject(object)?.customer === customerId));
    }
    const index = pages.findIndex((objects) => asObject(objects.at(-1))?.id === cursor) + 1;
    return page(pages[index] ?? [], index < pages.length - 1);
  };
  return { list, asked };
}

type Setting = Partial<Pick<Parameters<typeof reconcile>[0], 'database' | 'ingest' | 'isDryRun'>>;

async function reconcileWith(
  listSubscriptions: StripeApi['listSubscriptions'],
  { database = store.database, ingest = openPipeline(database), isDryRun = false }: Setting = {},
) {
  const issues: ReconciliationIssue[] = [];
  const services = { ...servicesWith(listSubscriptions), database, ingest };
  const onIssue = (issue: ReconciliationIssue) => issues.push(issue);
  const { signal } = new AbortController();
  const counts = await reconcile({ ...services, isDryRun, onIssue }, signal);
  return { ...counts, issues };
}

const servicesWith = (listSubscriptions: StripeApi['listSubscriptions']) => ({
  database: store.database,
  ingest: openPipeline(store.database),
  settle: openWholePipeline(store.database).settle,
  api: { listSubscriptions, retrieveCustomer: async () => null },
  nameOf: async () => null,
  planSelection: 'newest' as const,
  logger: createLogger('silent'),
  now: Date.now,
  nonce: () => 'holder',
});

test('one that was interrupted starts again', async () => {
  const teams = [await store.addTeam(), await store.addTeam()];
  const pages = teams.map(({ customerId }) => [subscriptionOf(customerId)]);
  const { list } = listOf(...pages);
  const cursors: unknown[] = [];
  let stopping = new AbortController();
  const services = servicesWith(async (from) => {
    if (from.customerId === undefined) cursors.push(from.cursor);
    if (cursors.length === 2) stopping.abort();
    return await list(from);
  });
  const run = createReconcileJob(services, 60_000);
  await expect(run(stopping.signal)).rejects.toThrow(Stopped);
  stopping = new AbortController();
  await run(stopping.signal);
  const second = `sub_of_${teams[0]?.customerId}`;
  expect(cursors).toEqual([null, second, null, second]);
  for (const { teamId } of teams) {
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  }
});

test('a customer whose subscriptions are on two pages keeps the plan of the one that goes on', async () => {
  const { teamId, customerId } = await store.addTeam();
  const ended = { id: 'sub_ended', status: 'canceled', ended_at: 2_000 };
  const { list } = listOf([subscriptionOf(customerId, ended)], [subscriptionOf(customerId)]);
  const changes: unknown[] = [];
  const ingest: Ingest = async (events) => {
    const results = await openPipeline(store.database)(events);
    changes.push((await store.planOf(teamId))?.subscriptionStatus);
    return results;
  };
  expect(await reconcileWith(list, { ingest })).toMatchObject({ drifts: 1, repaired: 1 });
  expect(new Set(changes)).toEqual(new Set(['active']));
});

test('a customer without a team is reported once, however many pages list it', async () => {
  const { list, asked } = listOf(
    [subscriptionOf('cus_twice', { id: 'sub_1' })],
    [subscriptionOf('cus_twice')],
  );
  expect(await reconcileWith(list, { isDryRun: true })).toMatchObject({
    customersWithoutTeam: 1,
    issues: [{ kind: 'customer without a team', statuses: ['active'] }],
  });
  expect(asked).toEqual([]);
});

test('asks only about customers that differ from the list, or that it never showed', async () => {
  const [right, wrong, unlisted] = [
    await store.addTeam(),
    await store.addTeam(),
    await store.addTeam(),
  ];
  await openPipeline(store.database)([receivedEvent({ customerId: right.customerId })]);
  const { list, asked } = listOf([
    subscriptionOf(right.customerId, { id: 'sub_1' }),
    subscriptionOf(wrong.customerId),
  ]);
  expect(await reconcileWith(list)).toMatchObject({ teams: 3, drifts: 1, repaired: 1 });
  expect(asked).toEqual([wrong.customerId, unlisted.customerId]);
});

test('asks about no more than 100 customers without a plan, but about all with one', async () => {
  const { query } = store.database;
  await query(`insert into teams (name, provider_customer_id)
               select 'Free', 'cus_free_' || number from generate_series(1, 150) as number`);
  await query(`insert into teams (name, provider_customer_id, plan_name)
               select 'Gold', 'cus_gold_' || number, 'Gold' from generate_series(1, 20) as number`);
  const { list, asked } = listOf([]);
  await reconcileWith(list);
  expect(asked.filter((id) => id.startsWith('cus_gold'))).toHaveLength(20);
  expect(asked.filter((id) => id.startsWith('cus_free'))).toHaveLength(100);
  const uncompared = `select from instep.asked_customers where asked_at is null`;
  expect(await query(uncompared)).toEqual([]);
  expect(await query('select from instep.asked_customers')).toHaveLength(170);
});

test('one that lost its lease ends, and has repaired nothing with a part of the list', async () => {
  const { query } = store.database;
  const { teamId, customerId } = await store.addTeam();
  await openPipeline(store.database)([receivedEvent({ customerId })]);
  const ended = { id: 'sub_1', status: 'canceled', ended_at: 1_900_000_000 };
  const { list } = listOf(
    [subscriptionOf(customerId, ended)],
    [subscriptionOf(customerId, { id: 'sub_new' })],
  );
  const takenOver: StripeApi['listSubscriptions'] = async (from) => {
    await query(`update instep.leased_jobs set holder = 'other' where name = 'reconcile'`);
    return await list(from);
  };
  await expect(reconcileWith(takenOver)).rejects.toMatchObject({ code: 'RECONCILIATION_FAILED' });
  expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
});

test('a customer is asked about once, however many pages show that its team differs', async () => {
  const { teamId, customerId } = await store.addTeam();
  const { list, asked } = listOf(
    [subscriptionOf(customerId, { id: 'sub_1' })],
    [subscriptionOf(customerId, { id: 'sub_2' })],
  );
  expect(await reconcileWith(list, { isDryRun: true })).toMatchObject({ drifts: 1, repaired: 0 });
  expect(asked).toEqual([customerId]);
  expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: null });
});

test('a team that is right on the first page is asked about if the second one differs', async () => {
  const { teamId, customerId } = await store.addTeam();
  await openPipeline(store.database)([receivedEvent({ customerId })]);
  const { list, asked } = listOf(
    [subscriptionOf(customerId, { id: 'sub_old', status: 'canceled', ended_at: 2_000 })],
    [subscriptionOf(customerId, { id: 'sub_1', status: 'canceled', ended_at: 1_900_000_000 })],
  );
  expect(await reconcileWith(list)).toMatchObject({ drifts: 1, repaired: 1 });
  expect(asked).toEqual([customerId]);
  expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
});

/** A pipeline that fails for this customer. */
function failingFor(customerId: string, error: Error): Ingest {
  const pipeline = openPipeline(store.database);
  return async (events) => {
    const isTheirs = events.some(
      (event) => event.kind !== 'unreadable' && event.subscription.customerId === customerId,
    );
    if (isTheirs) throw error;
    return await pipeline(events);
  };
}

const issuesOf = async (customerId: string) =>
  await store.database.query('select problem from instep.findings where customer_id = $1', [
    customerId,
  ]);

test('a team that stays locked delays no others, and is neither repaired nor refused', async () => {
  const [locked, other] = [await store.addTeam(), await store.addTeam()];
  const ingest = failingFor(locked.customerId, new DatabaseBusy('locked'));
  const { list } = listOf([locked, other].map((one) => subscriptionOf(one.customerId)));
  await whileHeld(store.openAnother(), lockTeam(locked.teamId), async () => {
    expect(await reconcileWith(list, { ingest })).toMatchObject({ drifts: 2, repaired: 1 });
  });
  expect(await issuesOf(locked.customerId)).toEqual([{ problem: 'missed event' }]);
  expect(await store.planOf(other.teamId)).toMatchObject({ subscriptionStatus: 'active' });
});

test('a repair of many teams leaves connections for requests', async () => {
  const teams = await Promise.all(Array.from({ length: 40 }, () => store.addTeam()));
  let mostWaiting = 0;
  const transaction: Database['transaction'] = (work, options) =>
    store.database.transaction(async (...connection) => {
      mostWaiting = Math.max(mostWaiting, store.database.poolUse().waiting);
      return await work(...connection);
    }, options);
  const { list } = listOf(teams.map(({ customerId }) => subscriptionOf(customerId)));
  const database = { ...store.database, transaction };
  expect(await reconcileWith(list, { database })).toMatchObject({ drifts: 40, repaired: 40 });
  expect(mostWaiting).toBe(0);
});

test('a dry run keeps the issue that the database refused a plan', async () => {
  const { customerId } = await store.addTeam();
  const ingest = failingFor(customerId, new DatabaseRefused('a constraint'));
  const { list } = listOf([subscriptionOf(customerId)]);
  expect(await reconcileWith(list, { ingest })).toMatchObject({ drifts: 1, repaired: 0 });
  expect(await issuesOf(customerId)).toEqual([{ problem: 'plan refused' }]);
  expect(await reconcileWith(list, { isDryRun: true })).toMatchObject({ drifts: 1 });
  expect(await issuesOf(customerId)).toEqual([{ problem: 'plan refused' }]);
});

test('a customer id that Stripe refuses delays no other team, and stays an issue', async () => {
  const [refused, other] = [await store.addTeam(), await store.addTeam()];
  await store.database.query(`update teams set provider_customer_id = '' where id = $1`, [
    refused.teamId,
  ]);
  const { list } = listOf([subscriptionOf(other.customerId)]);
  const refusing: StripeApi['listSubscriptions'] = async (from) => {
    if (from.customerId === '') throw new StripeApiFailed('answered 400', { status: 400 });
    return await list(from);
  };
  for (const repaired of [1, 0]) {
    expect(await reconcileWith(refusing)).toMatchObject({ repaired, unknownCustomers: 1 });
    expect(await issuesOf('')).toEqual([{ problem: 'unknown customer' }]);
  }
});

async function teamChangedByHand() {
  const { teamId, customerId } = await store.addTeam();
  await openPipeline(store.database)([receivedEvent({ customerId })]);
  await store.database.query(`update teams set subscription_status = 'unpaid' where id = $1`, [
    teamId,
  ]);
  return { teamId, list: listOf([subscriptionOf(customerId, { id: 'sub_1' })]).list };
}

test("drift is found through the app's own pool, where each transaction begins with our settings", async () => {
  const { list } = await teamChangedByHand();
  const pool = new pg.Pool({ connectionString: store.url.href });
  const database = openDatabase({
    ...{ connection: pool, maxConnections: 1, statementTimeoutMs: 5_000 },
    onConnectionError: () => undefined,
  });
  const found = await reconcileWith(list, { database, isDryRun: true }).finally(() => pool.end());
  expect(found.issues).toMatchObject([{ cause: 'changed by hand' }]);
});

test('a team that another transaction has locked is compared, too', async () => {
  const { teamId, list } = await teamChangedByHand();
  await whileHeld(store.openAnother(), lockTeam(teamId), async () => {
    const { issues } = await reconcileWith(list, { isDryRun: true });
    expect(issues).toMatchObject([{ cause: 'changed by hand' }]);
  });
});

test('a team that an event or the app changes while Stripe answers is left alone', async () => {
  const { teamId, customerId } = await store.addTeam();
  const ingest = openPipeline(store.database);
  await ingest([receivedEvent({ customerId, status: 'trialing' })]);
  const { list } = listOf([subscriptionOf(customerId, { id: 'sub_1' })]);
  const services = servicesWith(async (from) => {
    await ingest([receivedEvent({ customerId, status: 'active' })]);
    await store.database.query(`update teams set subscription_status = 'unpaid' where id = $1`, [
      teamId,
    ]);
    return await list(from);
  });
  const options = { ...services, isDryRun: false, onIssue: () => undefined };
  const { signal } = new AbortController();
  expect(await reconcileCustomer(customerId, options, signal)).toMatchObject({ drifts: 0 });
  expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'unpaid' });
});
