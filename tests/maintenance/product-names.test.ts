import type { RequestListener } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { addTeam, writeProductName } from '../support/internals/rows.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { embeddedServer, postgresServers } from '../support/postgres/test-database.ts';
import { openAskingJob } from '../support/service/asking-job.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { startStripe, startStripeWith } from '../support/stripe/stripe-apis.ts';

let count = 0;
function newProduct(): string {
  count += 1;
  return `prod_names_${count}`;
}

const sendsNothing: RequestListener = () => undefined;
const sendsLittle: RequestListener = (_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 300);
  response.on('close', () => clearInterval(timer));
};

describe.each(postgresServers)('product names on $name', (server) => {
  const store = useDatabase(server);

  /** The plan name that a new team gets from an event with this product. */
  async function nameBy(
    ingest: ReturnType<typeof openPipeline>,
    productId: string,
    status = 'active',
  ) {
    const { teamId, customerId } = await store.addTeam();
    const results = await ingest([receivedEvent({ customerId, productId, status })]);
    expect(results).toMatchObject([{ outcome: 'applied', teamIds: [teamId] }]);
    const plan = await store.planOf(teamId);
    expect(plan?.subscriptionStatus).toBe(status);
    return plan?.planName;
  }

  const storedName = async (productId: string) => {
    const statement = 'select name from instep.products where product_id = $1';
    const [row] = await store.database.query<{ name: string }>(statement, [productId]);
    return row?.name;
  };

  test('come from the API, and then from the cache', async () => {
    const productId = newProduct();
    const api = await startStripe({ [productId]: 'Alpha' });
    const ingest = openPipeline(store.database, api.retrieve);
    expect(await nameBy(ingest, productId)).toBe('Alpha');
    await api.close();
    await store.database.query('delete from instep.products where product_id = $1', [productId]);
    expect(await nameBy(ingest, productId)).toBe('Alpha');
  });

  test('come from the table that another instance has filled', async () => {
    const productId = newProduct();
    const api = await startStripe({ [productId]: 'Beta' });
    await nameBy(openPipeline(store.openAnother(), api.retrieve), productId);
    await api.close();
    expect(await storedName(productId)).toBe('Beta');
    expect(await nameBy(openPipeline(store.database, api.retrieve), productId)).toBe('Beta');
  });

  test('are not looked up for an event that clears the plan', async () => {
    const asked: string[] = [];
    const ingest = openPipeline(store.database, async (productId) => {
      asked.push(productId);
      return null;
    });
    for (const status of ['canceled', 'unpaid']) await nameBy(ingest, newProduct(), status);
    await ingest([receivedEvent({ productId: newProduct(), status: 'past_due' })]);
    expect(asked).toEqual([]);
  });

  test('take one call at a time for each product, even if many events are waiting', async () => {
    const inFlight = new Map<string, number>();
    const calls: string[] = [];
    let most = 0;
    const { retrieve } = await startStripeWith((request, response) => {
      const path = request.url ?? '';
      calls.push(path);
      inFlight.set(path, (inFlight.get(path) ?? 0) + 1);
      most = Math.max(most, inFlight.get(path) ?? 0);
      setTimeout(() => {
        inFlight.set(path, (inFlight.get(path) ?? 0) - 1);
        response.setHeader('Content-Type', 'application/json').end('{"name":"Gamma"}');
      }, 100);
    });
    const ingest = openPipeline(store.database, retrieve);
    const products = [newProduct(), newProduct()];
    const names = await Promise.all(
      Array.from({ length: 60 }, (_, index) => nameBy(ingest, products[index % 2] ?? '')),
    );
    expect(new Set(names)).toEqual(new Set(['Gamma']));
    expect(most).toBe(1);
    expect(calls.sort()).toEqual(products.map((productId) => `/v1/products/${productId}`));
  });

  test("come from an earlier event of a cycle, if its product is the team's again", async () => {
    const { teamId, customerId } = await store.addTeam();
    const ingest = openPipeline(store.database, async (productId) => `The plan of ${productId}`);
    const deliver = (status: string, productId: string, replaced: string) => {
      const second = { createdSeconds: 1_700_000_000, previousAttributes: { status: replaced } };
      return ingest([receivedEvent({ customerId, status, productId, ...second })]);
    };
    await deliver('active', 'prod_1', 'trialing');
    await deliver('trialing', 'prod_2', 'active');
    expect(await store.planOf(teamId)).toMatchObject({ planName: 'The plan of prod_2' });
    // Now the second begins with active, so it ends with active.
    await deliver('active', 'prod_2', 'incomplete');
    expect(await store.planOf(teamId)).toMatchObject({
      ...{ subscriptionStatus: 'active', providerProductId: 'prod_1' },
      planName: 'The plan of prod_1',
    });
  });

  test('make no event wait that needs none', async () => {
    const { retrieve } = await startStripeWith(sendsNothing);
    const ingest = openPipeline(store.database, retrieve);
    const order: string[] = [];
    const waiting = nameBy(ingest, newProduct()).then(() => order.push('named'));
    await nameBy(ingest, newProduct(), 'canceled').then(() => order.push('nameless'));
    await waiting;
    expect(order).toEqual(['nameless', 'named']);
  });

  test.each<[string, RequestListener]>([
    ['knows no such product', (_, response) => void response.writeHead(404).end('{"error":{}}')],
    ['fails', (_, response) => void response.writeHead(500).end('{}')],
    [
      'hangs up in the middle',
      (_, response) => {
        response.writeHead(200, { 'Content-Length': 100 }).write('{"name"');
        setTimeout(() => response.destroy(), 20);
      },
    ],
    ['sends nothing', sendsNothing],
    ['sends a few bytes now and then', sendsLittle],
  ])(
    'the team gets its plan without a name when the API %s, which is asked once',
    async (_, listener) => {
      const productId = newProduct();
      let requests = 0;
      const { retrieve } = await startStripeWith((request, response) => {
        requests += 1;
        listener(request, response);
      });
      const ingest = openPipeline(store.database, retrieve);
      expect(await nameBy(ingest, productId)).toBeNull();
      expect(await nameBy(ingest, productId)).toBeNull();
      expect(requests).toBe(1);
      // Maintenance looks it up later.
      const retrieveProductName = async () => 'Later';
      await openAskingJob({ database: store.database, api: { retrieveProductName } })();
      expect(await storedName(productId)).toBe('Later');
    },
  );
});

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
