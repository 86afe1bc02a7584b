import { beforeEach, expect, test } from 'vitest';
import { readFailedJobs } from '../support/internals/repair.ts';
import { addTeam, storeNamelessProducts } from '../support/internals/rows.ts';
import { StripeApiFailed } from '../support/internals/stripe.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { openAskingJob, passTime } from '../support/service/asking-job.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received, receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);
const query = (statement: string) => store.database.query(statement);

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.customers, instep.products,
                        instep.questions`);
  await query('update instep.leased_jobs set failure_code = null, attempt_at = null');
});

/** A team with two events of one second without evidence of their order. */
async function addAmbiguousTeam() {
  const ingest = openPipeline(store.database);
  const { teamId, customerId } = await store.addTeam();
  const event = { customerId, subscriptionId: `sub_${customerId}`, createdSeconds: 1_600_000_000 };
  await ingest([receivedEvent({ ...event, status: 'canceled' })]);
  await ingest([receivedEvent({ ...event, status: 'active' })]);
  return { teamId, customerId };
}

/** The job of an instance, with the ids that it asked for. `fail` can make Stripe fail. */
function openJob(fail: (id: string) => void = () => undefined) {
  const asked: string[] = [];
  const answer = <Answer>(id: string, value: Answer): Answer => {
    asked.push(id);
    fail(id);
    return value;
  };
  const run = openAskingJob({
    database: store.database,
    ingest: openPipeline(store.database),
    nonce: () => String(Math.random()),
    api: {
      retrieveProductName: async (id) => answer(id, 'Pro'),
      retrieveSubscription: async (id) => {
        const fields = { customerId: id.slice('sub_'.length), subscriptionId: id };
        const body = JSON.parse(eventBody({ ...fields, status: 'canceled' })).data.object;
        return answer(id, { body, answeredSeconds: null, tookMs: 0 });
      },
      listSubscriptions: async ({ customerId = '' }) =>
        answer(customerId, { objects: [], hasMore: false, answeredSeconds: null, tookMs: 0 }),
    },
  });
  return { run, asked };
}

test('a key without the permission for products still decides orders, and asks again after an hour', async () => {
  let isForbidden = true;
  const { run, asked } = openJob((id) => {
    if (isForbidden && id.startsWith('prod_')) {
      throw new StripeApiFailed('answered 403', { status: 403 });
    }
  });
  await storeNamelessProducts(store.database.query, ['prod_1', 'prod_2']);
  await run();
  const ambiguous = await addAmbiguousTeam();
  await run();
  await openJob().run();
  expect(asked).toEqual(['prod_1', `sub_${ambiguous.customerId}`]);
  expect(await store.planOf(ambiguous.teamId)).toMatchObject({ subscriptionStatus: 'canceled' });
  expect(await readFailedJobs(store.database.query)).toMatchObject([
    { job: 'product-names', code: 'STRIPE_API_FAILED' },
  ]);

  isForbidden = false;
  await query(`update instep.leased_jobs set attempt_at = now()`);
  await passTime(store.database.query, '1 hour');
  await run();
  expect(asked.slice(2).toSorted()).toEqual(['prod_1', 'prod_2']);
  expect(await readFailedJobs(store.database.query)).toEqual([]);
});

test('an ambiguous order is asked about before the customers who were waiting', async () => {
  for (let number = 0; number < 15; number += 1) {
    await addTeam(store.database.query, { name: 'New', customerId: `cus_new_${number}` });
  }
  let ambiguous: Promise<{ customerId: string }> | undefined;
  const { run, asked } = openJob(() => {
    ambiguous ??= addAmbiguousTeam();
  });
  await run();
  const subscriptionId = `sub_${(await ambiguous)?.customerId}`;
  expect(asked).toHaveLength(17);
  expect(asked.indexOf(subscriptionId)).toBe(10);
});

test('instances at the same time ask each question once', async () => {
  await storeNamelessProducts(store.database.query, ['prod_1', 'prod_2', 'prod_3', 'prod_4']);
  const instances = [openJob(), openJob()];
  await Promise.all(instances.map(({ run }) => run()));
  expect(instances.flatMap(({ asked }) => asked).toSorted()).toEqual([
    'prod_1',
    'prod_2',
    'prod_3',
    'prod_4',
  ]);
});

test('what a stopped process did not ask is asked by the next one', async () => {
  await storeNamelessProducts(store.database.query, ['prod_1', 'prod_2', 'prod_3']);
  const stopping = new AbortController();
  const stopped = openJob(() => stopping.abort());
  await stopped.run(stopping.signal);
  const next = openJob();
  await next.run();
  expect([...stopped.asked, ...next.asked].toSorted()).toEqual(['prod_1', 'prod_2', 'prod_3']);
});

test('the questions wait for a Stripe that can not be reached, and the next one is tried first', async () => {
  let isReachable = false;
  const { run, asked } = openJob(() => {
    if (!isReachable) throw new StripeApiFailed("api.stripe.com can't be reached");
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
    const asked: string[] = [];
    const run = openAskingJob({
      database: store.database,
      ingest,
      nonce: () => String(Math.random()),
      api: {
        retrieveProductName: async () => 'Pro',
        retrieveSubscription: async (id) => {
          asked.push(id);
          const body = { ...event.data.object, status };
          return { body, answeredSeconds: nowSeconds, tookMs: 0 };
        },
        listSubscriptions: async () => ({
          ...{ objects: [], hasMore: false, answeredSeconds: null, tookMs: 0 },
        }),
      },
    });
    await run();
    expect(asked).toEqual(['sub_1']);
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: status });
    await passTime(store.database.query, '1 hour');
    await run();
    expect(asked).toEqual(['sub_1']);
  },
);
