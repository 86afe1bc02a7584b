import { createLogger } from 'instep';
import { DatabaseBusy, DatabaseRefused } from 'instep-engine/postgres';
import type { Json } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import type { Database, Query } from '../../support/internals/database.ts';
import type { Ingest } from '../../support/internals/ingest.ts';
import { reconcile } from '../../support/internals/repair.ts';
import {
  type StripeApi,
  StripeApiFailed,
  type StripePage,
} from '../../support/internals/stripe.ts';
import { lockTeam, whileHeld } from '../../support/postgres/locks.ts';
import { embeddedServer } from '../../support/postgres/test-database.ts';
import { useDatabase } from '../../support/service/ingest-service.ts';
import { openPipeline, openWholePipeline } from '../../support/service/pipelines.ts';
import { eventBody } from '../../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

const subscriptionOf = (customerId: string): Json =>
  JSON.parse(eventBody({ customerId, subscriptionId: `sub_of_${customerId}` })).data.object;

const page = (objects: readonly Json[], hasMore = false): StripePage => ({
  objects,
  hasMore,
  answeredSeconds: null,
  tookMs: 0,
});

type Setting = Partial<Pick<Parameters<typeof reconcile>[0], 'database' | 'ingest' | 'isDryRun'>>;

function reconcileWith(
  listSubscriptions: StripeApi['listSubscriptions'],
  { database = store.database, ingest = openPipeline(database), isDryRun = false }: Setting = {},
) {
  return reconcile(
    {
      database,
      ingest,
      settle: openWholePipeline(database).settle,
      api: {
        listSubscriptions,
        listCustomers: async () => page([]),
        retrieveCustomer: async () => null,
      },
      nameOf: async () => null,
      planSelection: 'newest',
      logger: createLogger('silent'),
      now: Date.now,
      nonce: () => 'holder',
      isDryRun,
      onIssue: () => undefined,
    },
    new AbortController().signal,
  );
}

/** Stripe lists the same subscription on two pages. */
const listTwice: StripeApi['listSubscriptions'] = async ({ cursor }) =>
  page([subscriptionOf('cus_twice')], cursor === null);

test('counts a subscription that two pages list once', async () => {
  const counts = await reconcileWith(listTwice, { isDryRun: true });
  expect(counts).toMatchObject({ subscriptions: 1, customersWithoutTeam: 1 });
});

test('leaves the list to the instance that has taken over', async () => {
  const { query } = store.database;
  const takenOver: Query = async (statement, values) => {
    if (typeof statement !== 'string' && statement.name === 'read_unlisted_teams') {
      await query(`update instep.leased_jobs set holder = 'other' where name = 'reconcile'`);
    }
    return await query(statement, values);
  };
  const database = { ...store.database, query: takenOver };
  const reconciling = reconcileWith(listTwice, { database, isDryRun: true });
  await expect(reconciling).rejects.toMatchObject({ code: 'RECONCILIATION_FAILED' });
  expect(await query('select subscription_id from instep.listed_subscriptions')).toEqual([
    { subscription_id: 'sub_of_cus_twice' },
  ]);
});

/** Two teams whose customers have a subscription of which no event is known. */
async function twoTeams() {
  await store.database.query('truncate teams, instep.customers, instep.events');
  await store.database.query(`update instep.leased_jobs set holder = null, held_until = null`);
  return [await store.addTeam(), await store.addTeam()] as const;
}

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
  const [locked, other] = await twoTeams();
  const ingest = failingFor(locked.customerId, new DatabaseBusy('locked'));
  const list = async () => page([locked, other].map((one) => subscriptionOf(one.customerId)));
  await whileHeld(store.openAnother(), lockTeam(locked.teamId), async () => {
    expect(await reconcileWith(list, { ingest })).toMatchObject({ drifts: 2, repaired: 1 });
  });
  expect(await issuesOf(locked.customerId)).toEqual([{ problem: 'never seen' }]);
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
  const list = async () => page(teams.map(({ customerId }) => subscriptionOf(customerId)));
  const database = { ...store.database, transaction };
  expect(await reconcileWith(list, { database })).toMatchObject({ drifts: 40, repaired: 40 });
  expect(mostWaiting).toBe(0);
});

test('a dry run keeps the issue that the database refused a plan', async () => {
  const [refused] = await twoTeams();
  const ingest = failingFor(refused.customerId, new DatabaseRefused('a constraint'));
  const list = async () => page([subscriptionOf(refused.customerId)]);
  expect(await reconcileWith(list, { ingest })).toMatchObject({ drifts: 1, repaired: 0 });
  expect(await issuesOf(refused.customerId)).toEqual([{ problem: 'plan refused' }]);
  expect(await reconcileWith(list, { isDryRun: true })).toMatchObject({ drifts: 1 });
  expect(await issuesOf(refused.customerId)).toEqual([{ problem: 'plan refused' }]);
});

test('a customer id that Stripe refuses delays no other team', async () => {
  const [refused, other] = await twoTeams();
  await store.database.query(
    `update teams set provider_customer_id = '', plan_name = 'Gift' where id = ${refused.teamId}`,
  );
  const list: StripeApi['listSubscriptions'] = async ({ customerId }) => {
    if (customerId === '') throw new StripeApiFailed('answered 400', { status: 400 });
    return page([subscriptionOf(other.customerId)]);
  };
  expect(await reconcileWith(list)).toMatchObject({ teams: 2, repaired: 1, unknownCustomers: 1 });
  expect(await store.planOf(refused.teamId)).toMatchObject({ planName: 'Gift' });
  expect(await store.planOf(other.teamId)).toMatchObject({ subscriptionStatus: 'active' });
});
