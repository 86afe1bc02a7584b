import { getPage, type StripePage, TYPES_QUERY } from './api.ts';
import { createGet, type StripeApiOptions, type StripeRequest } from './api-call.ts';

/** The resources that a key needs permission to read. */
export const RESOURCES = [
  'events',
  'subscriptions',
  'products',
  'customers',
  'webhook endpoints',
  'event destinations',
] as const;

export type Resource = (typeof RESOURCES)[number];

/**
 * Lists the newest object of a resource, or all endpoints, to check whether the key has permission.
 *
 * @throws DeadlineExceeded or StripeApiFailed, within a few seconds
 */
export type InspectResource = (resource: Resource) => Promise<StripePage>;

/** Short, because an operator is waiting. */
const TIMEOUT_MS = 5_000;

const REQUESTS: Readonly<Record<Resource, Pick<StripeRequest, 'path' | 'query'>>> = {
  events: { path: '/v1/events', query: [['limit', '1'], ...TYPES_QUERY] },
  subscriptions: {
    path: '/v1/subscriptions',
    query: [
      ['limit', '1'],
      ['status', 'all'],
    ],
  },
  products: { path: '/v1/products', query: [['limit', '1']] },
  customers: { path: '/v1/customers', query: [['limit', '1']] },
  // An account can't have more endpoints.
  'webhook endpoints': { path: '/v1/webhook_endpoints', query: [['limit', '100']] },
  'event destinations': {
    path: '/v2/core/event_destinations',
    query: [
      ['limit', '100'],
      ['include[0]', 'webhook_endpoint.url'],
    ],
  },
};

/** Creates a function that checks the key's permission to read a resource. */
export function createInspection(options: StripeApiOptions): InspectResource {
  const get = createGet(options);
  return (resource) => getPage(get, { ...REQUESTS[resource], timeoutMs: TIMEOUT_MS });
}
