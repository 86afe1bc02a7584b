import type Stripe from 'stripe';
import { createClient, pageOf, type StripeApiOptions, type StripePage } from './api.ts';
import type { Ask } from './api-call.ts';
import { HANDLED_TYPES } from './handled-event-type.ts';

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
  const stripe = createClient(options, TIMEOUT_MS);
  const list = <Item>(path: string, ask: Ask<Stripe.ApiList<Item>>) =>
    pageOf(path, ask, TIMEOUT_MS);
  const newest = { limit: 1 };
  const newestEvent = { ...newest, types: [...HANDLED_TYPES] };
  const newestSubscription = { ...newest, status: 'all' } as const;
  const all = { limit: MAX_ENDPOINTS };
  const requests: Readonly<Record<Resource, () => Promise<StripePage>>> = {
    events: () => list('/v1/events', () => stripe.events.list(newestEvent)),
    subscriptions: () =>
      list('/v1/subscriptions', () => stripe.subscriptions.list(newestSubscription)),
    products: () => list('/v1/products', () => stripe.products.list(newest)),
    customers: () => list('/v1/customers', () => stripe.customers.list(newest)),
    'webhook endpoints': () =>
      list('/v1/webhook_endpoints', () => stripe.webhookEndpoints.list(all)),
  };
  return (resource) => requests[resource]();
}
