import type Stripe from 'stripe';
import { NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import { pageOf, type StripePage } from './api.ts';
import { HANDLED_TYPES } from './handled-event-type.ts';
import { createClient, type StripeApiOptions } from './sdk.ts';

/** What a key may have access to or not, of all that is asked of Stripe's API. */
export const RESOURCES = [
  'events',
  'subscriptions',
  'products',
  'customers',
  'webhook endpoints',
] as const;

export type Resource = (typeof RESOURCES)[number];

/**
 * Lists the newest object of a kind, or all webhook endpoints: just to see what comes of it.
 * @throws DeadlineExceeded or StripeApiFailed, within some seconds
 */
export type InspectResource = (resource: Resource) => Promise<StripePage>;

/** Somebody waits for it. */
const TIMEOUT_MS = 5_000;

/** Stripe has no account register more of them. */
const MAX_ENDPOINTS = 100;

/** Stripe's API, as far as it tells how things stand with the account and the key. */
export function createInspection(options: StripeApiOptions): InspectResource {
  const send = createClient(options, TIMEOUT_MS);
  const list = <Item>(path: string, ask: (stripe: Stripe) => Stripe.ApiListPromise<Item>) =>
    pageOf(path, () => send(ask), {
      timeoutMs: TIMEOUT_MS,
      instrumentation: options.instrumentation ?? NO_INSTRUMENTATION,
    });
  const newest = { limit: 1 };
  const newestEvent = { ...newest, types: [...HANDLED_TYPES] };
  const newestSubscription = { ...newest, status: 'all' } as const;
  const all = { limit: MAX_ENDPOINTS };
  const requests: Readonly<Record<Resource, () => Promise<StripePage>>> = {
    events: () => list('/v1/events', (stripe) => stripe.events.list(newestEvent)),
    subscriptions: () =>
      list('/v1/subscriptions', (stripe) => stripe.subscriptions.list(newestSubscription)),
    products: () => list('/v1/products', (stripe) => stripe.products.list(newest)),
    customers: () => list('/v1/customers', (stripe) => stripe.customers.list(newest)),
    'webhook endpoints': () =>
      list('/v1/webhook_endpoints', (stripe) => stripe.webhookEndpoints.list(all)),
  };
  return (resource) => requests[resource]();
}
