import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { useStripeApis } from '../support/stripe/stripe-apis.ts';

const store = useDatabase(embeddedServer);
const apis = useStripeApis();

const sendsNothing: RequestListener = () => undefined;
const sendsLittle: RequestListener = (_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 300);
  response.on('close', () => clearInterval(timer));
};

/** The duration of an event for a new team, which gets everything but the name. */
async function timeToApply(
  ingest: ReturnType<typeof openPipeline>,
  productId: string,
  status = 'active',
) {
  const { teamId, customerId } = await store.addTeam();
  const startedAt = Date.now();
  await ingest([receivedEvent({ customerId, productId, status })]);
  const tookMs = Date.now() - startedAt;
  const plan = await store.planOf(teamId);
  expect(plan).toMatchObject({ subscriptionStatus: status, planName: null });
  return tookMs;
}

test.concurrent.each([
  ['sends nothing', sendsNothing],
  ['sends a few bytes now and then', sendsLittle],
])('an event waits for 2 seconds at most when the API %s', async (_, listener) => {
  const { retrieve } = await apis.startWith(listener);
  const ingest = openPipeline(store.database, retrieve);
  expect(await timeToApply(ingest, 'prod_slow')).toBeLessThan(4_000);
  // The next event does not wait for the missing name.
  expect(await timeToApply(ingest, 'prod_slow')).toBeLessThan(1_500);
});

test.concurrent('an event that needs no name does not wait for one that does', async () => {
  const { retrieve } = await apis.startWith(sendsNothing);
  const ingest = openPipeline(store.database, retrieve);
  const order: string[] = [];
  const waiting = timeToApply(ingest, 'prod_slow').then(() => order.push('named'));
  await timeToApply(ingest, 'prod_other', 'canceled').then(() => order.push('nameless'));
  await waiting;
  expect(order).toEqual(['nameless', 'named']);
});

test.concurrent('events wait for their names at the same time', async () => {
  const { retrieve } = await apis.startWith(sendsNothing);
  const ingest = openPipeline(store.database, retrieve);
  const products = Array.from({ length: 30 }, (_, index) => `prod_slow_${index % 15}`);
  const times = await Promise.all(products.map((product) => timeToApply(ingest, product)));
  expect(Math.max(...times)).toBeLessThan(4_500);
});
