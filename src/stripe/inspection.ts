import { createClient, pageOf, type StripeApiOptions, type StripePage } from './api.ts';
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
  const newest = { limit: 1 };
  const requests: Readonly<Record<Resource, () => Promise<StripePage>>> = {
    events: () => pageOf(stripe.events.list({ ...newest, types: [...HANDLED_TYPES] }), TIMEOUT_MS),
    subscriptions: () =>
      pageOf(stripe.subscriptions.list({ ...newest, status: 'all' }), TIMEOUT_MS),
    products: () => pageOf(stripe.products.list(newest), TIMEOUT_MS),
    customers: () => pageOf(stripe.customers.list(newest), TIMEOUT_MS),
    'webhook endpoints': () =>
      pageOf(stripe.webhookEndpoints.list({ limit: MAX_ENDPOINTS }), TIMEOUT_MS),
  };
  return (resource) => requests[resource]();
}
