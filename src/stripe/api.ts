import type Stripe from 'stripe';
import { isList, type Json } from '../core/json.ts';
import { NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import { type Ask, answerOf, type CallOptions, found, StripeApiFailed } from './api-call.ts';
import { HANDLED_TYPES } from './handled-event-type.ts';
import { createClient, type StripeApiOptions } from './sdk.ts';
import { isStorableName } from './subscription-shape.ts';

export type StripeApi = {
  /** The name of a product; `null` when Stripe knows no such product, or none that can be kept. */
  retrieveProductName(productId: string): Promise<string | null>;
  /** A subscription as Stripe has it now; `null` when it knows no such subscription. */
  retrieveSubscription(subscriptionId: string): Promise<Json | null>;
  /** Events of the two handled types. Stripe keeps them for 30 days. */
  listEvents(from: { readonly createdSeconds: number } & From): Promise<StripePage>;
  /** All subscriptions, those that are over too; of this customer or of all. */
  listSubscriptions(from: { readonly customerId?: string | undefined } & From): Promise<StripePage>;
  listCustomers(from: From): Promise<StripePage>;
};

/** The place in a list: after the object of this id; `null` is the beginning. */
export type From = { readonly cursor: string | null };

/** One page of a list, the newest first. */
export type StripePage = {
  /** As they came over the wire. */
  readonly objects: readonly Json[];
  readonly hasMore: boolean;
  /** What Stripe's clock said when it answered, in whole seconds since 1970; `null`: nothing. */
  readonly answeredSeconds: number | null;
};

/** An event waits no longer than this for the name of its product. */
const TIMEOUT_MS = 2_000;

/** Nothing waits for a list, and a full page takes Stripe its time. */
const LIST_TIMEOUT_MS = 15_000;

/** The largest page that Stripe gives. */
const PAGE_SIZE = 100;

/** Stripe's API, as far as it is needed. Its calls throw `DeadlineExceeded` or `StripeApiFailed`. */
export function createStripeApi(options: StripeApiOptions): StripeApi {
  const send = createClient(options, TIMEOUT_MS);
  const { instrumentation = NO_INSTRUMENTATION } = options;
  const one = { timeoutMs: TIMEOUT_MS, instrumentation };
  const list = { timeoutMs: LIST_TIMEOUT_MS, instrumentation };
  const patience = { timeout: LIST_TIMEOUT_MS };
  return {
    async retrieveProductName(productId) {
      const ask = () => send((stripe) => stripe.products.retrieve(productId));
      const product = await found('/v1/products/{id}', ask, one);
      return product !== null && isStorableName(product.name) ? product.name : null;
    },
    async retrieveSubscription(subscriptionId) {
      const ask = () => send((stripe) => stripe.subscriptions.retrieve(subscriptionId));
      const subscription = await found('/v1/subscriptions/{id}', ask, one);
      return subscription === null ? null : asSent(subscription);
    },
    listEvents: ({ createdSeconds, cursor }) => {
      const created = { gte: createdSeconds };
      const types = [...HANDLED_TYPES];
      const parameters = { created, types, ...placeOf(cursor) };
      const ask = () => send((stripe) => stripe.events.list(parameters, patience));
      return pageOf('/v1/events', ask, list);
    },
    listSubscriptions: ({ customerId, cursor }) => {
      const customer = customerId === undefined ? {} : { customer: customerId };
      const parameters = { status: 'all', ...customer, ...placeOf(cursor) } as const;
      const ask = () => send((stripe) => stripe.subscriptions.list(parameters, patience));
      return pageOf('/v1/subscriptions', ask, list);
    },
    listCustomers: ({ cursor }) => {
      const ask = () => send((stripe) => stripe.customers.list(placeOf(cursor), patience));
      return pageOf('/v1/customers', ask, list);
    },
  };
}

function placeOf(cursor: string | null): Stripe.PaginationParams {
  return { limit: PAGE_SIZE, ...(cursor !== null && { starting_after: cursor }) };
}

/** @throws DeadlineExceeded, or StripeApiFailed */
export async function pageOf<Item>(
  path: string,
  ask: Ask<Stripe.ApiList<Item>>,
  options: CallOptions,
): Promise<StripePage> {
  const { data, has_more, lastResponse } = await answerOf(path, ask, options);
  // Others may answer in Stripe's place, and the SDK looks at no shape.
  if (!Array.isArray(data)) throw new StripeApiFailed('answered no list', { status: 200 });
  const answeredMs = Date.parse(lastResponse.headers.date ?? '');
  return {
    objects: data.map(asSent),
    hasMore: has_more,
    answeredSeconds: Number.isNaN(answeredMs) ? null : Math.floor(answeredMs / 1_000),
  };
}

/** The id of an object; `null` when it has none. */
export function idOf(object: Json | undefined): string | null {
  const isObject = typeof object === 'object' && object !== null && !isList(object);
  return isObject && typeof object.id === 'string' ? object.id : null;
}

/** What came over the wire, and nothing that the SDK has made of it. */
function asSent(object: unknown): Json {
  return JSON.parse(JSON.stringify(object));
}
