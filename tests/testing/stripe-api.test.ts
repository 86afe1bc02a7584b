import {
  ApiCollection,
  type ApiObject,
  createCheckoutSession,
  type FakeStripeAccount,
  startFakeStripeApi,
} from 'instep/testing';
import Stripe from 'stripe';
import { afterAll, describe, expect, test } from 'vitest';
import { API_KEY } from '../support/secrets/test-secrets.ts';

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

/** Stripe's SDK, connected to a stand-in for this account. */
async function sdk(account: Partial<FakeStripeAccount>): Promise<Stripe> {
  const server = await startFakeStripeApi({ productNames: {}, ...account });
  ends.push(server.close);
  const { hostname, port } = new URL(server.url);
  const config = { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 } as const;
  return new Stripe(API_KEY, config);
}

const event = (number: number, more: Partial<ApiObject> = {}) => ({
  id: `evt_${number}`,
  created: 1_000 + number,
  type: 'customer.subscription.updated',
  ...more,
});

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('a list', () => {
  test('has the newest objects first, and each object once across all pages', async () => {
    const events = new ApiCollection(range(250).map((number) => event(number)));
    const stripe = await sdk({ events });
    const { data, has_more } = await stripe.events.list();
    expect({ ids: data.map(({ id }) => id), has_more }).toEqual({
      ids: range(10).map((number) => `evt_${249 - number}`),
      has_more: true,
    });
    const all = await stripe.events.list({ limit: 100 }).autoPagingToArray({ limit: 1_000 });
    expect(all.map(({ id }) => id)).toEqual(range(250).map((number) => `evt_${249 - number}`));
  });

  test('contains only the requested types, times and statuses', async () => {
    const deleted = 'customer.subscription.deleted';
    const events = new ApiCollection([
      event(1),
      event(2, { type: deleted }),
      event(3, { type: 'invoice.paid' }),
    ]);
    const types = ['customer.subscription.updated', deleted];
    const subscriptions = new ApiCollection([
      { id: 'sub_1', customer: 'cus_1', status: 'canceled' },
      { id: 'sub_2', customer: 'cus_1', status: 'active' },
      { id: 'sub_3', customer: 'cus_2', status: 'past_due' },
    ]);
    const stripe = await sdk({ events, subscriptions });
    const ids = async (list: PromiseLike<{ data: { id: string }[] }>) =>
      (await list).data.map(({ id }) => id);
    expect(await ids(stripe.events.list({ types }))).toEqual(['evt_2', 'evt_1']);
    expect(await ids(stripe.events.list({ created: { gte: 1_002 } }))).toEqual(['evt_3', 'evt_2']);
    expect(await ids(stripe.events.list({ created: { lte: 1_001 } }))).toEqual(['evt_1']);
    expect(await ids(stripe.subscriptions.list())).toEqual(['sub_3', 'sub_2']);
    expect(await ids(stripe.subscriptions.list({ status: 'active' }))).toEqual(['sub_2']);
    const ofCustomer = { status: 'all', customer: 'cus_1' } as const;
    expect(await ids(stripe.subscriptions.list(ofCustomer))).toEqual(['sub_2', 'sub_1']);
  });

  test('that changes while it is read contains each earlier object once', async () => {
    const events = new ApiCollection(range(6).map((number) => event(number)));
    const stripe = await sdk({
      events,
      onCall(path) {
        if (path.includes('starting_after=evt_4')) events.set(event(6));
        return undefined;
      },
    });
    const ids: string[] = [];
    for await (const { id } of stripe.events.list({ limit: 2 })) ids.push(id);
    expect(ids).toEqual(['evt_5', 'evt_4', 'evt_3', 'evt_2', 'evt_1', 'evt_0']);
  });

  test.each([
    ['a page that is too large', { limit: 101 }, 'limit'],
    ['an unknown cursor', { starting_after: 'evt_9' }, 'starting_after'],
  ])('refuses %s', async (_, parameters, param) => {
    const stripe = await sdk({ events: new ApiCollection([event(1)]) });
    const refused = await stripe.events.list(parameters).catch((error: unknown) => error);
    expect(refused).toMatchObject({ type: 'StripeInvalidRequestError', statusCode: 400, param });
  });

  test('of an unknown customer is an error', async () => {
    const customers = new ApiCollection([{ id: 'cus_1' }]);
    const stripe = await sdk({ customers });
    expect(await stripe.subscriptions.list({ customer: 'cus_1' })).toMatchObject({ data: [] });
    await expect(stripe.subscriptions.list({ customer: 'cus_2' })).rejects.toMatchObject({
      code: 'resource_missing',
      statusCode: 400,
    });
  });
});

describe('a faulty API', () => {
  test('sends Retry-After', async () => {
    const stripe = await sdk({ onCall: () => ({ status: 429, retryAfterSeconds: 7 }) });
    const failed = await stripe.events.list().catch((error: unknown) => error);
    expect(failed).toMatchObject({ statusCode: 429, headers: { 'retry-after': '7' } });
  });
});

describe('a Checkout Session', () => {
  const session = createCheckoutSession({ customerId: 'cus_1', metadata: { teamId: '7' } });
  const account = {
    checkoutSessions: new ApiCollection([session]),
    subscriptions: new ApiCollection([{ id: 'sub_1', customer: 'cus_1', status: 'trialing' }]),
  };

  test('has the objects that the request expands', async () => {
    const stripe = await sdk(account);
    const expand = ['customer', 'subscription'];
    expect(await stripe.checkout.sessions.retrieve('cs_1', { expand })).toMatchObject({
      customer: 'cus_1',
      subscription: { id: 'sub_1', status: 'trialing' },
    });
  });
});

test('an array in place of a collection is refused at the start', async () => {
  const account = { checkoutSessions: [createCheckoutSession({ customerId: 'cus_1' })] };
  // @ts-expect-error In JavaScript, nothing else says it.
  await expect(startFakeStripeApi(account)).rejects.toThrow('checkoutSessions must be an Api');
});
