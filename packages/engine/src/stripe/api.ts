// The calls to Stripe's API: for the ingest pipeline, maintenance, checkouts and the operators' search, and the retrieval
// of events that a notification names.

import { asObject, isList, type Json } from '../rule/json.ts';
import {
  type AnswerTime,
  type Get,
  lastShownSecond,
  type StripeAnswer,
  type StripeRequest,
} from './api-call.ts';
import { StripeApiFailed } from './api-failure.ts';
import {
  type EventNotification,
  HANDLED_TYPES,
  isStorableName,
  type ParseOptions,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from './parse-event.ts';
import {
  makeSnapshot,
  parseListedSubscription,
  type SnapshotEvent,
} from './subscription-snapshot.ts';

/** The start of a page in a list: after the object with this id; `null`: at the beginning. */
export type From = { readonly cursor: string | null };

/** One page of a list, the newest object first. */
export type StripePage = AnswerTime & {
  readonly objects: readonly Json[];
  readonly hasMore: boolean;
};

/** Short, because an event waits for the name of its product, and Stripe for the response to a notification. */
const TIMEOUT_MS = 2_000;

/** Longer, because no event waits for a list, and Stripe takes longer for a full page. */
const LIST_TIMEOUT_MS = 15_000;

/** The largest page that Stripe offers. */
const PAGE_SIZE = 100;

/** The types as Stripe's lists expect them. */
export const TYPES_QUERY = HANDLED_TYPES.map((type, index) => [`types[${index}]`, type] as const);

/** The part of Stripe's API that keeps teams in sync. A call ends at its deadline or with its signal. */
export type StripeApi = ReturnType<typeof createStripeApi>;

/** Its calls throw `DeadlineExceeded`, `Stopped` or `StripeApiFailed`. */
export function createStripeApi(get: Get) {
  async function retrieve(path: string, id: string, signal?: AbortSignal, query: Query = []) {
    try {
      return await get({ path, id, query, timeoutMs: TIMEOUT_MS, signal });
    } catch (error) {
      if (error instanceof StripeApiFailed && error.status === 404) return null;
      throw error;
    }
  }
  async function list(path: string, { cursor }: From, query: Query, signal?: AbortSignal) {
    const start = cursor === null ? [] : [['starting_after', cursor] as const];
    return await getPage(get, {
      path,
      query: [['limit', String(PAGE_SIZE)], ...start, ...query],
      timeoutMs: LIST_TIMEOUT_MS,
      signal,
    });
  }
  return {
    /** The name of a product; `null` when Stripe knows no such product, or its name can't be stored. */
    async retrieveProductName(id: string, signal?: AbortSignal): Promise<string | null> {
      const name = (await retrieve('/v1/products/{id}', id, signal))?.body.name;
      return isStorableName(name) ? name : null;
    },
    /** A subscription as it is now; `null` when Stripe knows no such subscription. */
    retrieveSubscription: (id: string, signal?: AbortSignal) =>
      retrieve('/v1/subscriptions/{id}', id, signal),
    /** A Checkout Session with its subscription; `null` when Stripe knows no such session. */
    retrieveCheckoutSession: (id: string, signal?: AbortSignal) =>
      retrieve('/v1/checkout/sessions/{id}', id, signal, [['expand[]', 'subscription']]),
    /** Events of the two handled types. Stripe keeps them for 30 days. */
    listEvents: (
      { createdSeconds, ...from }: From & { createdSeconds: number },
      signal?: AbortSignal,
    ) =>
      list('/v1/events', from, [['created[gte]', String(createdSeconds)], ...TYPES_QUERY], signal),
    /** All subscriptions, including those that have ended; of one customer or of all. */
    listSubscriptions(
      { customerId, ...from }: From & { customerId?: string | undefined },
      signal?: AbortSignal,
    ) {
      const customer = customerId === undefined ? [] : [['customer', customerId] as const];
      return list('/v1/subscriptions', from, [['status', 'all'], ...customer], signal);
    },
    /** Whom a customer stands for; `null` when Stripe knows no such customer, or the key lacks the permission. */
    async retrieveCustomer(id: string, signal?: AbortSignal): Promise<StripeCustomer | null> {
      try {
        const body = (await retrieve('/v1/customers/{id}', id, signal))?.body;
        if (body === undefined) return null;
        const { deleted, name, email } = body;
        return { isDeleted: deleted === true, name: shortText(name), email: shortText(email) };
      } catch (error) {
        const isDenied = error instanceof StripeApiFailed && (error.isForbidden || error.isRefused);
        if (isDenied) return null;
        throw error;
      }
    },
  };
}

/** Never stored: a person can ask Stripe to forget it. */
export type StripeCustomer = {
  readonly isDeleted: boolean;
  readonly name: string | null;
  readonly email: string | null;
};

const shortText = (value: Json | undefined) =>
  typeof value === 'string' && value !== '' ? value.slice(0, 300) : null;

type Query = NonNullable<StripeRequest['query']>;

/** @throws DeadlineExceeded, Stopped or StripeApiFailed */
export async function getPage(get: Get, request: StripeRequest): Promise<StripePage> {
  const { body, ...time } = await get(request);
  const { data, has_more: hasMore } = body;
  if (!isList(data)) throw new StripeApiFailed('returned no list', { status: 200 });
  return { objects: data, hasMore: hasMore === true, ...time };
}

export function idOf(object: Json | undefined): string | null {
  const id = asObject(object)?.id;
  return typeof id === 'string' ? id : null;
}

export type RetrieveNotifiedEvent = ReturnType<typeof createEventRetrieval>;

/**
 * Opens the part of Stripe's API that retrieves the events of notifications: each is the same event that an endpoint
 * with snapshot payload receives and that Stripe lists, so a duplicate is recognized. For a notification of no such event,
 * it retrieves the subscription.
 */
export function createEventRetrieval(get: Get) {
  return async (
    { eventId, origin }: EventNotification,
    receipt: ParseOptions,
  ): Promise<{ event: ReadableEvent | UnreadableEvent | SnapshotEvent; body: Uint8Array }> => {
    const common = { context: origin.account, timeoutMs: TIMEOUT_MS };
    const notified = await get({ ...common, path: '/v2/core/events/{id}', id: eventId });
    const { snapshot_event: id, related_object: related, created } = notified.body;
    if (typeof id !== 'string') {
      const relatedId = idOf(related);
      if (relatedId === null) {
        const problem = 'returned an event without snapshot_event and related_object';
        throw new StripeApiFailed(problem, { status: 200 });
      }
      const answer = await get({ ...common, path: '/v1/subscriptions/{id}', id: relatedId });
      const notifiedMs = typeof created === 'string' ? Date.parse(created) : Number.NaN;
      return notifiedSnapshot(answer, notifiedMs, receipt);
    }
    const { body } = await get({ ...common, path: '/v1/events/{id}', id });
    const text = JSON.stringify(body);
    const event = parseEvent(text, receipt);
    if (event.kind !== 'readable' && event.kind !== 'unreadable') {
      throw new StripeApiFailed('returned an event of another type', { status: 200 });
    }
    return { event, body: Buffer.from(text) };
  };
}

/**
 * A subscription as it was when Stripe answered, after its notification. One that has ended is dated to its end, so that it
 * takes no newer plan away.
 */
function notifiedSnapshot(
  { body, ...time }: StripeAnswer,
  notifiedMs: number,
  { receivedAtMs, nonce }: ParseOptions,
) {
  const shownSeconds = lastShownSecond(time, receivedAtMs);
  const notifiedSeconds = Number.isNaN(notifiedMs) ? shownSeconds : Math.floor(notifiedMs / 1_000);
  const listed = parseListedSubscription(body, Math.max(shownSeconds, notifiedSeconds));
  const createdSeconds = Math.max(listed?.endedSeconds ?? shownSeconds, notifiedSeconds);
  const dated = { createdSeconds, seenKeys: null, takenAtMs: receivedAtMs, nonce };
  const snapshot = makeSnapshot(body, dated);
  if (snapshot === null) {
    throw new StripeApiFailed('returned a subscription that can not be read', { status: 200 });
  }
  const { body: text, receivedAtMs: _, source: __, ...event } = snapshot;
  return { event, body: text };
}
