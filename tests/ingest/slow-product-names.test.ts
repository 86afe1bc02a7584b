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

/** Ingests an event for a new team, which gets everything but the name. */
async function applyWithoutName(
  ingest: ReturnType<typeof openPipeline>,
  productId: string,
  status = 'active',
) {
  const { teamId, customerId } = await store.addTeam();
  await ingest([receivedEvent({ customerId, productId, status })]);
  const plan = await store.planOf(teamId);
  expect(plan).toMatchObject({ subscriptionStatus: status, planName: null });
}

test.concurrent.each([
  ['sends nothing', sendsNothing],
  ['sends a few bytes now and then', sendsLittle],
])('an event is applied without the name when the API %s', async (_, listener) => {
  let requests = 0;
  const { retrieve } = await apis.startWith((request, response) => {
    requests += 1;
    listener(request, response);
  });
  const ingest = openPipeline(store.database, retrieve);
  await applyWithoutName(ingest, 'prod_slow');
  // The next event does not ask for the missing name.
  await applyWithoutName(ingest, 'prod_slow');
  expect(requests).toBe(1);
});

test.concurrent('an event that needs no name does not wait for one that does', async () => {
  const { retrieve } = await apis.startWith(sendsNothing);
  const ingest = openPipeline(store.database, retrieve);
  const order: string[] = [];
  const waiting = applyWithoutName(ingest, 'prod_slow').then(() => order.push('named'));
  await applyWithoutName(ingest, 'prod_other', 'canceled').then(() => order.push('nameless'));
  await waiting;
  expect(order).toEqual(['nameless', 'named']);
});
