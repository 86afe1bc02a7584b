import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  createCheckoutSession,
  createSubscriptionEvent,
  type FakeStripeApi,
  startFakeStripeApi,
} from 'instep/testing';

export type CheckoutApi = Pick<FakeStripeApi, 'url' | 'subscriptions' | 'close'> & {
  /** While it is down, a checkout can still be paid. */
  isDown: boolean;
};

/**
 * A stand-in for Stripe's API with a checkout, which starts a trial of Pro at once, and redirects the browser
 * back without any webhook.
 */
export async function startCheckoutApi(): Promise<CheckoutApi> {
  const account = { productNames: { prod_pro: 'Pro' }, isDown: false };
  const stripe = await startFakeStripeApi(account);
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    response.setHeader('Content-Type', 'application/json');
    if (request.method === 'POST') {
      const form = new URLSearchParams(await text(request));
      response.end(JSON.stringify(create(stripe, path, form, `http://${request.headers.host}`)));
    } else if (path.startsWith(PAGE)) {
      response.writeHead(303, { Location: decodeURIComponent(path.slice(PAGE.length)) }).end();
    } else {
      const answer = await fetch(`${stripe.url}${path}`);
      response.writeHead(answer.status).end(await answer.text());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(account, {
    url: `http://127.0.0.1:${port}`,
    subscriptions: stripe.subscriptions,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await stripe.close();
    },
  });
}

/** The page where the user would pay. It sends the browser back at once. */
const PAGE = '/pay/';

function create(stripe: FakeStripeApi, path: string, form: URLSearchParams, origin: string) {
  if (path === '/v1/customers') {
    const customer = { id: 'cus_flow', object: 'customer', email: form.get('email') };
    stripe.customers.set(customer);
    return customer;
  }
  const customerId = form.get('customer') ?? '';
  const trial = createSubscriptionEvent({ customerId, productId: 'prod_pro', status: 'trialing' });
  const metadata = { teamId: form.get('subscription_data[metadata][teamId]') };
  stripe.subscriptions.set({ ...trial.data.object, id: 'sub_flow', ...{ metadata } });
  const session = createCheckoutSession({
    ...{ id: 'cs_example', customerId, subscriptionId: 'sub_flow' },
    clientReferenceId: form.get('client_reference_id') ?? undefined,
  });
  stripe.checkoutSessions.set(session);
  const back = form.get('success_url')?.replace('{CHECKOUT_SESSION_ID}', session.id) ?? '';
  const url = `${origin}${PAGE}${encodeURIComponent(back)}`;
  return { ...session, status: 'open', url };
}
