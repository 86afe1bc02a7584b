import { asObject, isList, type Json } from '../core/json.ts';
import {
  createGet,
  type Get,
  type StripeAnswer,
  type StripeApiOptions,
  type StripeRequest,
} from './api-call.ts';
import { StripeApiFailed } from './api-failure.ts';
import { HANDLED_TYPES, isStorableName } from './parse-event.ts';

/** The part of Stripe's API that keeps teams in sync. A call ends at its deadline or with its signal. */
export type StripeApi = {
  /** The name of a product; `null` when Stripe knows no such product, or its name can't be stored. */
  retrieveProductName(productId: string, signal?: AbortSignal): Promise<string | null>;
  /** A subscription as it is now; `null` when Stripe knows no such subscription. */
  retrieveSubscription(id: string, signal?: AbortSignal): Promise<StripeAnswer | null>;
  /** A Checkout Session with its subscription; `null` when Stripe knows no such session. */
  retrieveCheckoutSession(id: string, signal?: AbortSignal): Promise<StripeAnswer | null>;
  /** Events of the two handled types. Stripe keeps them for 30 days. */
  listEvents(from: From & { createdSeconds: number }, signal?: AbortSignal): Promise<StripePage>;
  /** All subscriptions, including those that have ended; of one customer or of all. */
  listSubscriptions(
    from: From & { customerId?: string | undefined },
    signal?: AbortSignal,
  ): Promise<StripePage>;
  listCustomers(from: From, signal?: AbortSignal): Promise<StripePage>;
};

/** The start of a page in a list: after the object with this id; `null`: at the beginning. */
export type From = { readonly cursor: string | null };

/** One page of a list, the newest object first. */
export type StripePage = {
  readonly objects: readonly Json[];
  readonly hasMore: boolean;
  /** Stripe's time when it answered, in whole seconds since 1970; `null` when it did not state it. */
  readonly answeredSeconds: number | null;
};

/** The longest time that an event waits for the name of its product. */
const TIMEOUT_MS = 2_000;

/** Longer, because no event waits for a list, and Stripe takes longer for a full page. */
const LIST_TIMEOUT_MS = 15_000;

/** The largest page that Stripe offers. */
const PAGE_SIZE = 100;

/** The types as Stripe's lists expect them. */
export const TYPES_QUERY = HANDLED_TYPES.map((type, index) => [`types[${index}]`, type] as const);

/** Opens Stripe's API. Its calls throw `DeadlineExceeded`, `Stopped` or `StripeApiFailed`. */
export function createStripeApi(options: StripeApiOptions): StripeApi {
  const get = createGet(options);
  const page = (path: string, { cursor }: From, query: Query, signal: AbortSignal | undefined) => {
    const place = cursor === null ? [] : [['starting_after', cursor] as const];
    return getPage(get, {
      path,
      query: [['limit', String(PAGE_SIZE)], ...place, ...query],
      timeoutMs: LIST_TIMEOUT_MS,
      signal,
    });
  };
  const retrieve = async (
    path: string,
    id: string,
    signal: AbortSignal | undefined,
    query: Query = [],
  ) => {
    try {
      return await get({ path, id, query, timeoutMs: TIMEOUT_MS, signal });
    } catch (error) {
      if (error instanceof StripeApiFailed && error.status === 404) return null;
      throw error;
    }
  };
  return {
    async retrieveProductName(id, signal) {
      const name = (await retrieve('/v1/products/{id}', id, signal))?.body.name;
      return isStorableName(name) ? name : null;
    },
    retrieveSubscription: (id, signal) => retrieve('/v1/subscriptions/{id}', id, signal),
    retrieveCheckoutSession: (id, signal) =>
      retrieve('/v1/checkout/sessions/{id}', id, signal, [['expand[]', 'subscription']]),
    listEvents: ({ createdSeconds, ...from }, signal) =>
      page('/v1/events', from, [['created[gte]', String(createdSeconds)], ...TYPES_QUERY], signal),
    listSubscriptions({ customerId, ...from }, signal) {
      const customer = customerId === undefined ? [] : [['customer', customerId] as const];
      return page('/v1/subscriptions', from, [['status', 'all'], ...customer], signal);
    },
    listCustomers: (from, signal) => page('/v1/customers', from, [], signal),
  };
}

type Query = NonNullable<StripeRequest['query']>;

/** @throws DeadlineExceeded, Stopped or StripeApiFailed */
export async function getPage(get: Get, request: StripeRequest): Promise<StripePage> {
  const { body, answeredSeconds } = await get(request);
  const { data, has_more: hasMore } = body;
  if (!isList(data)) throw new StripeApiFailed('returned no list', { status: 200 });
  return { objects: data, hasMore: hasMore === true, answeredSeconds };
}

/** The id of an object; `null` when it has none. */
export function idOf(object: Json | undefined): string | null {
  const id = asObject(object)?.id;
  return typeof id === 'string' ? id : null;
}
