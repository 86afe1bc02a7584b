import { beforeEach, expect, test } from 'vitest';
import type { Ingest } from '../support/internals/ingest.ts';
import { storeNamelessProducts } from '../support/internals/rows.ts';
import { type StripeApi, StripeApiFailed } from '../support/internals/stripe.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { openAskingJob, passTime } from '../support/service/asking-job.ts';
import { hasUnknownOrder } from '../support/service/customer-states.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline, openWholePipeline } from '../support/service/pipelines.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const query = (statement: string) => store.database.query(statement);

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.customers, instep.products,
                        instep.asked_customers`);
});

const SECOND = 1_600_000_000;
const subscriptionOf = (customerId: string) => `sub_${customerId}`;

/** A team with two events of one second without evidence of their order. */
async function addAmbiguousTeam() {
  const ingest = openPipeline(store.database);
  const { teamId, customerId } = await store.addTeam();
  const subscriptionId = subscriptionOf(customerId);
  const deliver = (status: string) =>
    ingest([receivedEvent({ customerId, subscriptionId, status, createdSeconds: SECOND })]);
  await deliver('canceled');
  await deliver('active');
  const isAmbiguous = () => hasUnknownOrder(store.database.query, customerId);
  const statusOf = async () => (await store.planOf(teamId))?.subscriptionStatus;
  return { teamId, customerId, deliver, isAmbiguous, statusOf };
}

/** Stripe's answer about a subscription: by default that it is of its team's customer and has ended. */
function answerOf(
  subscriptionId: string,
  { customerId = subscriptionId.slice('sub_'.length), status = 'canceled' } = {},
  answeredSeconds: number | null = null,
): Awaited<ReturnType<StripeApi['retrieveSubscription']>> {
  const body = JSON.parse(eventBody({ customerId, subscriptionId, status })).data.object;
  return { body, answeredSeconds, tookMs: 0 };
}

type Job = {
  /** Can make Stripe fail when it is asked about this id. */
  readonly fail?: (id: string) => void;
  readonly retrieve?: typeof answerOf;
  readonly ingest?: Ingest;
};

/** The job of an instance, with the ids that it asked for. */
function openJob({
  fail = () => undefined,
  retrieve = answerOf,
  ingest = openPipeline(store.database),
}: Job = {}) {
  const asked: string[] = [];
  const answer = <Answer>(id: string, value: Answer): Answer => {
    asked.push(id);
    fail(id);
    return value;
  };
  const run = openAskingJob({
    database: store.database,
    ingest,
    nonce: () => String(Math.random()),
    api: {
      retrieveProductName: async (id) => answer(id, 'Pro'),
      retrieveSubscription: async (id) => answer(id, retrieve(id)),
      listSubscriptions: async ({ customerId = '' }) =>
        answer(customerId, { objects: [], hasMore: false, answeredSeconds: null, tookMs: 0 }),
    },
  });
  return { run, asked, askedSubscriptions: () => asked.filter((id) => id.startsWith('sub_')) };
}

/** Runs the job this often, with a minute in between. */
async function runOften(run: () => Promise<void>, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await run();
    await passTime(store.database.query, '1 minute');
  }
}

test("ignores a snapshot that is too early by Stripe's clock", async () => {
  const team = await addAmbiguousTeam();
  let answeredSeconds = SECOND;
  const { run } = openJob({ retrieve: (id) => answerOf(id, {}, answeredSeconds) });
  await runOften(run, 1);
  expect(await team.isAmbiguous()).toBe(true);
  answeredSeconds = SECOND + 60;
  await run();
  expect(await team.isAmbiguous()).toBe(false);
});

test('asks again when an event of the second arrives after the snapshot', async () => {
  const team = await addAmbiguousTeam();
  const { run } = openJob({ retrieve: (id) => answerOf(id, { status: 'active' }, SECOND + 60) });
  await runOften(run, 1);
  expect(await team.isAmbiguous()).toBe(false);
  await team.deliver('unpaid');
  expect(await team.statusOf()).toBe('unpaid');
  expect(await team.isAmbiguous()).toBe(true);
  await run();
  expect(await team.statusOf()).toBe('active');
  expect(await team.isAmbiguous()).toBe(false);
});

test('requests nothing when the customer no longer has a team', async () => {
  const { teamId } = await addAmbiguousTeam();
  await store.database.query('delete from teams where id = $1', [teamId]);
  const { run, askedSubscriptions } = openJob();
  await runOften(run, 5);
  expect(askedSubscriptions()).toEqual([]);
});

test.each<[string, typeof answerOf]>([
  ['snapshots of another customer', (id) => answerOf(id, { customerId: 'cus_another' })],
  ['the answer that Stripe does not know the subscription', () => null],
])('asks again after longer and longer pauses after %s', async (_, retrieve) => {
  await addAmbiguousTeam();
  const { run, askedSubscriptions } = openJob({ retrieve });
  await runOften(run, 30);
  expect(askedSubscriptions().length).toBeGreaterThan(3);
  expect(askedSubscriptions().length).toBeLessThan(10);
});

test('a snapshot that the database refuses keeps no other subscription waiting', async () => {
  const refused = await addAmbiguousTeam();
  const other = await addAmbiguousTeam();
  await query(`alter table teams add constraint objection
                 check (id <> ${refused.teamId} or subscription_status <> 'canceled')`);
  await openJob().run();
  await query('alter table teams drop constraint objection');
  expect(await refused.statusOf()).toBe('active');
  expect(await other.statusOf()).toBe('canceled');
});

test('a locked team keeps no other subscription waiting, and its snapshot is taken again', async () => {
  const locked = await addAmbiguousTeam();
  const other = await addAmbiguousTeam();
  const { ingest: impatient } = openWholePipeline(store.database, { timeoutMs: 500 });
  const { run, askedSubscriptions } = openJob({ ingest: impatient });
  await whileHeld(store.openAnother(), lockTeam(locked.teamId), () => runOften(run, 1));
  expect(askedSubscriptions()).toHaveLength(2);
  expect(await other.statusOf()).toBe('canceled');
  expect(await locked.statusOf()).toBe('active');
  await run();
  expect(await locked.statusOf()).toBe('canceled');
});

test('a key without the permission for products still decides orders', async () => {
  const { run } = openJob({
    fail: (id) => {
      if (id.startsWith('prod_')) throw new StripeApiFailed('answered 403', { status: 403 });
    },
  });
  await storeNamelessProducts(store.database.query, ['prod_1', 'prod_2']);
  const ambiguous = await addAmbiguousTeam();
  await expect(run()).rejects.toMatchObject({ code: 'STRIPE_API_FAILED', isForbidden: true });
  expect(await ambiguous.statusOf()).toBe('canceled');
});

test('instances at the same time ask each question once', async () => {
  await storeNamelessProducts(store.database.query, ['prod_1', 'prod_2', 'prod_3', 'prod_4']);
  const instances = [openJob(), openJob()];
  await Promise.all(instances.map(({ run }) => run()));
  const asked = instances.flatMap((instance) => instance.asked).toSorted();
  expect(asked).toEqual(['prod_1', 'prod_2', 'prod_3', 'prod_4']);
});

test('what a stopped process did not ask is asked by the next one', async () => {
  await storeNamelessProducts(store.database.query, ['prod_1', 'prod_2', 'prod_3']);
  const stopping = new AbortController();
  const stopped = openJob({ fail: () => stopping.abort() });
  await stopped.run(stopping.signal);
  const next = openJob();
  await next.run();
  expect([...stopped.asked, ...next.asked].toSorted()).toEqual(['prod_1', 'prod_2', 'prod_3']);
});

test('the questions wait for a Stripe that can not be reached, and the next one is tried first', async () => {
  let isReachable = false;
  const { run, asked } = openJob({
    fail: () => {
      if (!isReachable) throw new StripeApiFailed("api.stripe.com can't be reached");
    },
  });
  await storeNamelessProducts(store.database.query, ['prod_1', 'prod_2', 'prod_3']);
  await expect(run()).rejects.toMatchObject({ code: 'STRIPE_API_FAILED' });
  expect(asked).toHaveLength(1);
  isReachable = true;
  await run();
  expect(asked).toHaveLength(3);
  expect(new Set(asked).size).toBe(3);
});

test.each([
  ['has ended', 'canceled'],
  ['goes on', 'active'],
])(
  'Stripe is asked about a subscription whose end has passed without an event: it %s',
  async (_, status) => {
    const { teamId, customerId } = await store.addTeam();
    const ingest = openPipeline(store.database);
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const event = JSON.parse(eventBody({ customerId, createdSeconds: nowSeconds - 864_000 }));
    event.data.object.cancel_at = nowSeconds - 90_000;
    await ingest([received(JSON.stringify(event))]);
    const body = { ...event.data.object, status };
    const retrieve = () => ({ body, answeredSeconds: nowSeconds, tookMs: 0 });
    const { run, askedSubscriptions } = openJob({ retrieve });
    await run();
    expect(askedSubscriptions()).toEqual(['sub_1']);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: status });
    await passTime(store.database.query, '1 hour');
    await run();
    expect(askedSubscriptions()).toEqual(['sub_1']);
  },
);
