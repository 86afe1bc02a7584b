// A subscription as Stripe's API returns it, as an event that the ingest pipeline takes: for maintenance and checkouts.

import * as v from 'valibot';
import type { SubscriptionEvent } from '../rule/event.ts';
import { asObject, isList, type Json, type JsonObject } from '../rule/json.ts';
import { eventKey } from './event-key.ts';
import { readBody, SNAPSHOT_TYPE } from './parse-event.ts';

/** A subscription in Stripe's list. Times are in whole seconds since 1970, by Stripe's clock. */
export type ListedSubscription = {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string | null;
  readonly priceId: string | null;
  /** Stripe's list usually has no name; then the product's name is used. */
  readonly planName: string | null;
  readonly beganSeconds: number | null;
  /** When it ended; `null` while it has not. */
  readonly endedSeconds: number | null;
  /** What a snapshot of it stores: the members that parse-event.ts and the fields of a plan read, as the newest API version has them. */
  readonly object: JsonObject;
  /** The list includes everything that happened to it up to this time. */
  readonly asOfSeconds: number;
};

const seconds = v.fallback(v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0))), null);

const timesShape = v.object({ created: seconds, ended_at: seconds });

/** More than any error of a clock. */
const MAX_AHEAD_SECONDS = 60 * 60;

/** Parses a subscription from Stripe's list; `null` when its shape is unknown. */
export function parseListedSubscription(
  listed: Json,
  asOfSeconds: number,
): ListedSubscription | null {
  const subscription = readBody(
    { created: asOfSeconds, data: { object: listed } },
    0,
  )?.subscription;
  if (subscription === undefined || subscription.subscriptionId === null) return null;
  const { customerId, subscriptionId, status, productId, planName } = subscription;
  const times = v.parse(timesShape, listed);
  // The time of a test clock can be years ahead. As the date of a snapshot, it would overrule all real events.
  const past = (time: number | null | undefined) =>
    time != null && time > asOfSeconds + MAX_AHEAD_SECONDS ? asOfSeconds : (time ?? null);
  const beganSeconds = past(times.created);
  const endedSeconds = past(times.ended_at);
  const { item, otherItems, ...details } = detailsOf(listed);
  const plan = { product: productId && { id: productId, name: planName }, name: planName };
  const priceId = typeof item.price.id === 'string' ? item.price.id : null;
  return {
    ...{ customerId, subscriptionId, status, productId, priceId, planName },
    ...{ beganSeconds, endedSeconds, asOfSeconds },
    object: {
      ...details,
      id: subscriptionId,
      object: 'subscription',
      created: beganSeconds,
      customer: customerId,
      ended_at: endedSeconds,
      items: { data: [{ ...item, plan }, ...otherItems] },
      status,
    },
  };
}

/** What a snapshot keeps besides, from any API version. A field of a plan that reads another member needs it here. */
function detailsOf(listed: Json) {
  const subscription = asObject(listed) ?? {};
  const items = asObject(subscription.items)?.data;
  const [item = {}, ...others] = (isList(items) ? items : []).map((one) => asObject(one) ?? {});
  const price = asObject(item.price ?? item.plan ?? subscription.plan) ?? {};
  const { id = null, currency = null, unit_amount = price.amount ?? null } = price;
  return {
    ...pick(subscription, 'cancel_at', 'cancel_at_period_end', 'current_period_end', 'trial_end'),
    ...pick(subscription, 'currency', 'default_payment_method', 'default_source'),
    ...pick(subscription, 'pause_collection', 'quantity', 'trial_settings'),
    item: {
      ...pick(item, 'current_period_end', 'quantity'),
      price: { id, currency, unit_amount },
    },
    otherItems: others.map((other) => pick(other, 'current_period_end')),
  };
}

function pick(object: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, object[name] ?? null]));
}

/** A subscription of Stripe's API as an event that is only compared, not stored; `null` when it can't be read. */
export function eventOf(object: JsonObject, createdSeconds: number): SubscriptionEvent | null {
  const type = SNAPSHOT_TYPE;
  const event = readBody({ type, created: createdSeconds, data: { object } }, 0);
  return event && { ...event, key: '', eventId: null, type };
}

/**
 * A subscription as Stripe's API returned it. It goes through the ingest pipeline and is logged like an
 * event. It decides an ambiguous order, or corrects a state that differs from Stripe's.
 */
export type SnapshotEvent = SubscriptionEvent & {
  readonly kind: 'snapshot';
  readonly eventId: null;
  readonly type: typeof SNAPSHOT_TYPE;
};

type SnapshotOptions = Pick<SubscriptionEvent, 'seenKeys'> & {
  /** The second at whose end the subscription was as in the snapshot, by Stripe's clock. */
  createdSeconds: number;
  takenAtMs: number;
  nonce: () => string;
};

/** Creates a snapshot from a subscription of Stripe's API, ready to be ingested; `null` when it can't be read. */
export function makeSnapshot(
  subscription: Json,
  { createdSeconds, seenKeys, takenAtMs, nonce }: SnapshotOptions,
): (SnapshotEvent & { body: Uint8Array; receivedAtMs: number; source: 'log' }) | null {
  const type = SNAPSHOT_TYPE;
  const data = { object: subscription };
  const seen = seenKeys && { observed_keys: [...seenKeys] };
  const body = { type, created: createdSeconds, data, ...seen };
  const event = readBody(body, takenAtMs);
  if (event === null) return null;
  const { subscriptionId } = event.subscription;
  const key = eventKey({ eventId: null, type, createdSeconds, subscriptionId, data }, nonce);
  const snapshot = { ...event, kind: 'snapshot', key, eventId: null, type } as const;
  const text = JSON.stringify(body);
  return { ...snapshot, body: Buffer.from(text), receivedAtMs: takenAtMs, source: 'log' };
}
