import * as v from 'valibot';
import type { Json } from '../core/same-second-order.ts';
import { parseCausedEvent } from './parse-event.ts';

/** A subscription as Stripe's list shows it. Times are in whole seconds since 1970, by its clock. */
export type ListedSubscription = {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string | null;
  /** As the list told it; mostly it tells none, and the product's name counts. */
  readonly planName: string | null;
  readonly beganSeconds: number | null;
  /** When it was over for good; `null` while it is not. */
  readonly endedSeconds: number | null;
  /** All that happened to it until then is in what is shown. */
  readonly asOfSeconds: number;
};

const seconds = v.fallback(v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0))), null);

const timesShape = v.object({ created: seconds, ended_at: seconds });

/** Understands a subscription of Stripe's list; `null` when it is of no shape that we know. */
export function readListedSubscription(
  listed: Json,
  asOfSeconds: number,
): ListedSubscription | null {
  const text = JSON.stringify({ created: asOfSeconds, data: { object: listed } });
  const subscription = parseCausedEvent(text, 0)?.subscription;
  if (subscription === undefined || subscription.subscriptionId === null) return null;
  const times = v.parse(timesShape, listed);
  return {
    customerId: subscription.customerId,
    subscriptionId: subscription.subscriptionId,
    status: subscription.status,
    productId: subscription.productId,
    planName: subscription.planName,
    beganSeconds: times.created ?? null,
    endedSeconds: times.ended_at ?? null,
    asOfSeconds,
  };
}

/** The subscription, reduced to what a look needs. */
export function showListed(listed: ListedSubscription): Json {
  const { subscriptionId, customerId, status, productId, planName } = listed;
  const plan = { product: productId, name: planName };
  return {
    id: subscriptionId,
    object: 'subscription',
    created: listed.beganSeconds,
    customer: customerId,
    ended_at: listed.endedSeconds,
    items: { data: [{ plan }] },
    status,
  };
}
