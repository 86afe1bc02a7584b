// A stand-in for Stripe's API on a local port: for the tests of an app, for ours, and for the demo.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENDED_STATUSES } from 'instep-engine/rule';
import { announcedEventId, createEventNotification } from './stripe-objects.ts';

/** An object as Stripe's API returns it. */
export type ApiObject = {
  readonly id: string;
  /** In whole seconds since 1970. */
  readonly created?: number;
  readonly customer?: unknown;
  readonly subscription?: unknown;
  readonly status?: unknown;
  readonly type?: unknown;
  /** The test clock of a customer or a subscription; without one, its times are real. */
  readonly test_clock?: unknown;
  /** Of a customer: `true` if it was deleted, so that no list has it. */
  readonly deleted?: unknown;
  /** Of an event: `null` if its notification names only the subscription. */
  readonly snapshot_event?: unknown;
};

/** The API's objects of one kind. They can change at any time, even while a list of them is read. */
export class ApiCollection {
  #objects = new Map<string, ApiObject>();
  #newestFirst: readonly ApiObject[] | null = null;

  constructor(objects: Iterable<ApiObject> = []) {
    for (const object of objects) this.#objects.set(object.id, object);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(id: string): ApiObject | undefined {
    return this.#objects.get(id);
  }

  /** Adds an object, or replaces the one with its id. */
  set(object: ApiObject): void {
    this.#objects.set(object.id, object);
    this.#newestFirst = null;
  }

  delete(id: string): void {
    this.#objects.delete(id);
    this.#newestFirst = null;
  }

  /** In the API's order: by `created`, and within one second the last one added first. */
  newestFirst(): readonly ApiObject[] {
    this.#newestFirst ??= [...this.#objects.values()]
      .reverse()
      .sort((one, other) => (other.created ?? 0) - (one.created ?? 0));
    return this.#newestFirst;
  }
}

/** An error response. */
export type ApiFault = {
  readonly status: number;
  readonly retryAfterSeconds?: number;
};

/** The objects that the API returns. */
export type FakeStripeObjects = Readonly<
  Record<
    | 'subscriptions'
    | 'customers'
    | 'checkoutSessions'
    | 'events'
    | 'webhookEndpoints'
    | 'eventDestinations',
    ApiCollection
  >
>;

/** The objects of the Stripe account, and the behavior of its API. Everything can change while it runs. */
export type FakeStripeAccount = Partial<FakeStripeObjects> & {
  /** For an app that is started before the test, with this port in `STRIPE_API_BASE`. Default: a free port. */
  readonly port?: number;
  /** Product names by product id. */
  readonly productNames?: Readonly<Record<string, string>>;
  /** Answer every request with 503. */
  readonly isDown?: boolean;
  /** Wait this long before each response. */
  readonly delayMs?: number;
  /** The time of the `Date` header, in milliseconds since 1970. Default: the real time. */
  readonly clockMs?: () => number;
  /** Called with the path and query of each request. A fault that it returns is the response. */
  readonly onCall?: (path: string) => ApiFault | undefined;
};

/** A running stand-in for Stripe's API. It returns the objects of its collections. */
export type FakeStripeApi = FakeStripeObjects & {
  /** The value for `STRIPE_API_BASE`. */
  readonly url: string;
  close(): Promise<void>;
};

const V2_PATH = /^\/v2\/core\/(event_destination|event)s(?:\/([^/]+))?$/;

const PATH =
  /^\/v1\/(product|subscription|customer|checkout\/session|event|webhook_endpoint)s(?:\/([^/]+))?$/;

/**
 * Starts a stand-in for Stripe's API on 127.0.0.1. It serves products, subscriptions,
 * customers, Checkout Sessions, events and webhook endpoints to Stripe's SDK, one by one and as lists;
 * event destinations as a list; and the events of API v2 that belong to its events. `expand` works for
 * the customer and the subscription of an object.
 *
 * @throws TypeError if the objects of one kind are no `ApiCollection`, such as an array
 * @example
 * ```ts
 * import { createSubscriptionEvent, startFakeStripeApi } from 'instep/testing';
 *
 * const stripe = await startFakeStripeApi({ productNames: { prod_pro: 'Pro' } });
 * const event = createSubscriptionEvent({ customerId: 'cus_1', productId: 'prod_pro' });
 * stripe.subscriptions.set(event.data.object);
 * const response = await fetch(`${stripe.url}/v1/products/prod_pro`);
 * console.log(await response.json()); // { id: 'prod_pro', name: 'Pro', … }
 * await stripe.close();
 * ```
 */
export async function startFakeStripeApi(account: FakeStripeAccount = {}): Promise<FakeStripeApi> {
  const collections = {
    subscriptions: account.subscriptions ?? new ApiCollection(),
    customers: account.customers ?? new ApiCollection(),
    checkoutSessions: account.checkoutSessions ?? new ApiCollection(),
    events: account.events ?? new ApiCollection(),
    webhookEndpoints: account.webhookEndpoints ?? new ApiCollection(),
    eventDestinations: account.eventDestinations ?? new ApiCollection(),
  };
  for (const [name, collection] of Object.entries(collections)) {
    if (!(collection instanceof ApiCollection)) {
      throw new TypeError(`${name} must be an ApiCollection, such as new ApiCollection([object])`);
    }
  }
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const fault = account.onCall?.(path);
    if (account.delayMs !== undefined) await sleep(account.delayMs, undefined, { ref: false });
    if (account.clockMs !== undefined) {
      response.setHeader('Date', new Date(account.clockMs()).toUTCString());
    }
    if (fault?.retryAfterSeconds !== undefined) {
      response.setHeader('Retry-After', fault.retryAfterSeconds);
    }
    const { status, body } = fault ? failure(fault.status) : respond(path, account, collections);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(account.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    ...collections,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function respond(
  path: string,
  { isDown, productNames = {} }: FakeStripeAccount,
  collections: FakeStripeObjects,
): ApiResponse {
  if (isDown) return failure(503);
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  if (pathname.startsWith('/v2/')) return respondV2(pathname, collections);
  const { subscriptions, customers, checkoutSessions, events, webhookEndpoints } = collections;
  const [, kind = '', id] = PATH.exec(pathname) ?? [];
  const products = Object.entries(productNames).map(([id, name]) => ({ id, name }));
  const collection = new Map([
    ['product', new ApiCollection(products.map((one) => ({ ...one, object: 'product' })))],
    ['subscription', subscriptions],
    ['customer', customers],
    ['checkout/session', checkoutSessions],
    ['event', events],
    ['webhook_endpoint', webhookEndpoints],
  ]).get(kind);
  if (collection === undefined) return notFound('id', 'path', pathname);
  if (id !== undefined) {
    const found = collection.get(id);
    return found === undefined
      ? notFound('id', kind, id)
      : ok(expanded(found, searchParams, collections));
  }
  const customerId = searchParams.get('customer');
  const isUnknown =
    customerId !== null &&
    (customers.get(customerId)?.deleted === true ||
      (customers.get(customerId) === undefined &&
        !subscriptions.newestFirst().some(({ customer }) => customer === customerId)));
  if (isUnknown) return notFound('customer', 'customer', customerId);
  return listObjects(collection, kind, searchParams);
}

/** The object, with objects in place of the ids that the request names in `expand`. */
function expanded(
  object: ApiObject,
  parameters: URLSearchParams,
  { subscriptions, customers }: FakeStripeObjects,
): ApiObject {
  const { customer, subscription } = object;
  const isNamed = (member: string) =>
    [...parameters].some(([name, value]) => /^expand\[\d*\]$/.test(name) && value === member);
  return {
    ...object,
    ...(isNamed('customer') && { customer: customers.get(String(customer)) ?? customer }),
    ...(isNamed('subscription') && {
      subscription: subscriptions.get(String(subscription)) ?? subscription,
    }),
  };
}

function respondV2(
  pathname: string,
  { events, eventDestinations }: FakeStripeObjects,
): ApiResponse {
  const [, kind, id] = V2_PATH.exec(pathname) ?? [];
  if (kind === 'event_destination' && id === undefined) {
    return ok({ data: eventDestinations.newestFirst(), next_page_url: null });
  }
  const event = kind === 'event' && id !== undefined ? events.get(announcedEventId(id)) : undefined;
  if (event === undefined) return notFound('id', 'object', pathname);
  const { id: announcedId, snapshot_event = announcedId } = event;
  return ok({ ...createEventNotification(event), snapshot_event });
}

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 10;

/** One page of a list: the objects after the cursor that match the filter, the newest first. */
export function listObjects(
  collection: ApiCollection,
  kind: string,
  parameters: URLSearchParams,
): ApiResponse {
  const limit = Number(parameters.get('limit') ?? DEFAULT_LIMIT);
  if (!(limit >= 1 && limit <= MAX_LIMIT)) {
    return invalidParameter('limit', 'limit must be from 1 to 100');
  }
  const objects = collection.newestFirst().filter(({ deleted }) => deleted !== true);
  const cursor = parameters.get('starting_after');
  const before = cursor === null ? -1 : objects.findIndex(({ id }) => id === cursor);
  if (cursor !== null && before === -1) return notFound('starting_after', kind, cursor);

  const filters = filtersOf(kind, parameters);
  const data: ApiObject[] = [];
  for (let index = before + 1; index < objects.length && data.length <= limit; index += 1) {
    const object = objects[index];
    if (object !== undefined && filters.every((matches) => matches(object))) data.push(object);
  }
  const has_more = data.length > limit;
  return ok({ object: 'list', data: data.slice(0, limit), has_more, url: `/v1/${kind}s` });
}

type Filter = (object: ApiObject) => boolean;

function filtersOf(kind: string, parameters: URLSearchParams): Filter[] {
  const filters: Filter[] = [];
  for (const [name, value] of parameters) {
    const seconds = Number(value);
    if (name === 'created[gte]') filters.push(({ created = 0 }) => created >= seconds);
    if (name === 'created[lte]') filters.push(({ created = 0 }) => created <= seconds);
    if (name === 'customer') filters.push(({ customer }) => customer === value);
  }
  const types = [...parameters].flatMap(([name, value]) =>
    /^types\[\d*\]$/.test(name) ? value : [],
  );
  if (types.length > 0) filters.push(({ type }) => types.includes(String(type)));
  const clock = parameters.get('test_clock');
  // Stripe leaves out what belongs to a test clock, unless it is asked for the clock or the customer.
  const hasClocks = kind === 'subscription' || kind === 'customer';
  if (hasClocks && !(clock === null && parameters.has('customer'))) {
    filters.push(({ test_clock }) => (test_clock ?? null) === clock);
  }
  const status = parameters.get('status');
  if (kind === 'subscription' && status === null) {
    // Stripe then lists only those that have not ended.
    filters.push((object) => !ENDED_STATUSES.includes(String(object.status)));
  } else if (status !== null && status !== 'all') filters.push((one) => one.status === status);
  return filters;
}

type ApiResponse = { readonly status: number; readonly body: unknown };

function ok(body: unknown): ApiResponse {
  return { status: 200, body };
}

/** Stripe answers 404 to an unknown id in the path, and 400 to one in a parameter. */
function notFound(param: string, kind: string, id: string): ApiResponse {
  const message = `No such ${kind}: '${id}'`;
  const error = { type: 'invalid_request_error', code: 'resource_missing', param, message };
  return { status: param === 'id' ? 404 : 400, body: { error } };
}

function invalidParameter(param: string, message: string): ApiResponse {
  return { status: 400, body: { error: { type: 'invalid_request_error', param, message } } };
}

/** A failure that the request did not cause. */
function failure(status: number): ApiResponse {
  const type = status >= 500 ? 'api_error' : 'invalid_request_error';
  return { status, body: { error: { type, message: `A simulated failure: ${status}.` } } };
}
