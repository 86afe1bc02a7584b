import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiCollection, startFakeStripeApi } from 'instep/testing';
import { afterAll, expect, test } from 'vitest';
import { createStripeApi, StripeApiFailed } from '../support/internals/stripe.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';

const range = Array.from({ length: 150 }, (_, index) => index);
const updated = { type: 'customer.subscription.updated', created: 2_000 };
const paths: string[] = [];
let fault: { status: number; retryAfterSeconds?: number } | undefined;

const server = await startFakeStripeApi({
  productNames: {},
  events: new ApiCollection([
    { id: 'evt_old', ...updated, created: 1_000 },
    { id: 'evt_paid', created: 2_000, type: 'invoice.paid' },
    { id: 'evt_new', ...updated, type: 'customer.subscription.deleted' },
  ]),
  subscriptions: new ApiCollection(
    range.map((number) => ({
      id: `sub_${number}`,
      created: number,
      customer: `cus_${number % 3}`,
      status: number % 2 === 0 ? 'active' : 'canceled',
    })),
  ),
  customers: new ApiCollection([{ id: 'cus_alone' }]),
  clockMs: () => 1_700_000_000_900,
  onCall(path) {
    paths.push(path);
    return fault;
  },
});
afterAll(() => server.close());
const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(server.url) });

const idsOf = ({ objects }: { objects: readonly unknown[] }) =>
  objects.map((object) => (object as { id: string }).id);

test('lists the events of the two types that were created since a time', async () => {
  const page = await api.listEvents({ createdSeconds: 1_500, cursor: null });
  expect(idsOf(page)).toEqual(['evt_new']);
  expect(page).toMatchObject({ hasMore: false, answeredSeconds: 1_700_000_000 });
  expect(page.objects[0]).toEqual({ id: 'evt_new', created: 2_000, type: expect.any(String) });
});

test('lists subscriptions by the hundred, including ended ones', async () => {
  const first = await api.listSubscriptions({ cursor: null });
  expect(first).toMatchObject({ hasMore: true });
  expect(idsOf(first)).toEqual(
    range
      .slice(50)
      .map((number) => `sub_${number}`)
      .reverse(),
  );
  const last = await api.listSubscriptions({ cursor: 'sub_50' });
  expect(last).toMatchObject({ hasMore: false });
  expect(idsOf(last)).toEqual(
    range
      .slice(0, 50)
      .map((number) => `sub_${number}`)
      .reverse(),
  );
  expect(paths.at(-1)).toContain('limit=100');
  const ofOne = await api.listSubscriptions({ customerId: 'cus_2', cursor: null });
  expect(ofOne.objects).toHaveLength(50);
});

test.each([
  [
    { status: 429, retryAfterSeconds: 3 },
    { status: 429, retryAfterMs: 3_000 },
  ],
  [{ status: 500 }, { status: 500, retryAfterMs: null, isForbidden: false, isRefused: false }],
  [{ status: 403 }, { status: 403, isForbidden: true }],
  [{ status: 400 }, { status: 400, isRefused: true }],
])('an answer %j has the properties of its failure', async (answered, expected) => {
  fault = answered;
  const failed = await api.listSubscriptions({ cursor: null }).catch((error: unknown) => error);
  fault = undefined;
  expect(failed).toBeInstanceOf(StripeApiFailed);
  expect(failed).toMatchObject(expected);
});

test('fails when the answer is not a list', async () => {
  const odd = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(odd, 'listening');
  const url = new URL(`http://127.0.0.1:${(odd.address() as AddressInfo).port}`);
  const { listSubscriptions } = createStripeApi({ secretKey: API_KEY, baseUrl: url });
  const failed = await listSubscriptions({ cursor: null }).catch((error: unknown) => error);
  odd.close().closeAllConnections();
  expect(failed).toBeInstanceOf(StripeApiFailed);
});
