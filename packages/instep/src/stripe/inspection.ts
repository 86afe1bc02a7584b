import * as v from 'valibot';
import type { Json } from '../core/json.ts';
import { getPage, type StripePage, TYPES_QUERY } from './api.ts';
import { createGet, type StripeApiOptions, type StripeRequest } from './api-call.ts';
import { HANDLED_TYPES, NOTIFICATION_TYPES } from './parse-event.ts';

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

const url = v.pipe(
  v.string(),
  v.url(),
  v.transform((text) => new URL(text)),
);

const endpointShape = v.object({
  id: v.string(),
  url,
  status: v.string(),
  enabled_events: v.array(v.string()),
  api_version: v.nullish(v.string()),
});

const destinationShape = v.object({
  id: v.string(),
  status: v.string(),
  enabled_events: v.array(v.string()),
  event_payload: v.picklist(['snapshot', 'thin']),
  snapshot_api_version: v.nullish(v.string()),
  webhook_endpoint: v.object({ url }),
});

/** Destinations of other types, such as Amazon EventBridge. */
const elsewhereShape = v.object({ type: v.pipe(v.string(), v.notValue('webhook_endpoint')) });

/** The payload that Stripe sends: the event, or a notification without its content. */
type Payload = 'snapshot' | 'thin';

/** A registered destination of Stripe's events. */
export type WebhookEndpoint = {
  readonly id: string;
  readonly url: URL;
  readonly isEnabled: boolean;
  readonly payload: Payload;
  /** The handled types that it is not registered for. */
  readonly missingTypes: readonly string[];
  /** How many other types it is registered for; infinitely many when it is registered for all. */
  readonly otherTypes: number;
  /** The API version of its events; `null`: the account's default version, or none. */
  readonly apiVersion: string | null;
};

const ALL_TYPES = '*';

/** The names under which an endpoint with this payload is registered for the handled types. */
export const TYPES_BY_PAYLOAD: Readonly<Record<Payload, readonly string[]>> = {
  snapshot: HANDLED_TYPES,
  thin: NOTIFICATION_TYPES,
};

/** Parses a webhook endpoint from Stripe's list; `null` when its shape is unknown. */
export function readWebhookEndpoint(listed: Json): WebhookEndpoint | null {
  const parsed = v.safeParse(endpointShape, listed);
  if (!parsed.success) return null;
  const { id, url, status, enabled_events: types, api_version: apiVersion } = parsed.output;
  return endpointOf({ id, url, status, types, payload: 'snapshot', apiVersion });
}

/**
 * Parses an event destination from Stripe's list; `null` when its shape is unknown, and an empty list when it
 * is not a webhook endpoint.
 */
export function readEventDestination(listed: Json): readonly WebhookEndpoint[] | null {
  if (v.is(elsewhereShape, listed)) return [];
  const parsed = v.safeParse(destinationShape, listed);
  if (!parsed.success) return null;
  const { id, status, enabled_events: types, event_payload: payload } = parsed.output;
  const { snapshot_api_version: apiVersion, webhook_endpoint } = parsed.output;
  return [endpointOf({ id, url: webhook_endpoint.url, status, types, payload, apiVersion })];
}

type Listed = Pick<WebhookEndpoint, 'id' | 'url' | 'payload'> & {
  status: string;
  types: readonly string[];
  apiVersion: string | null | undefined;
};

function endpointOf({ status, types, apiVersion = null, ...listed }: Listed): WebhookEndpoint {
  const hasAll = types.includes(ALL_TYPES);
  const handled = TYPES_BY_PAYLOAD[listed.payload];
  return {
    ...listed,
    isEnabled: status === 'enabled',
    missingTypes: hasAll ? [] : handled.filter((type) => !types.includes(type)),
    otherTypes: hasAll
      ? Number.POSITIVE_INFINITY
      : types.filter((type) => !handled.includes(type)).length,
    apiVersion,
  };
}
