import * as v from 'valibot';
import type { Json } from '../core/json.ts';
import type { ListedSubscription } from '../core/listed-subscription.ts';
import { parseChange } from './parse-event.ts';

const seconds = v.fallback(v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0))), null);

const timesShape = v.object({ created: seconds, ended_at: seconds });

/** Parses a subscription of Stripe's list; `null` when its shape is unknown. */
export function parseListedSubscription(
  listed: Json,
  asOfSeconds: number,
): ListedSubscription | null {
  const text = JSON.stringify({ created: asOfSeconds, data: { object: listed } });
  const subscription = parseChange(text, 0)?.subscription;
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

/** The subscription as JSON, reduced to what a snapshot needs. */
export function toSubscriptionJson(listed: ListedSubscription): Json {
  const { subscriptionId, customerId, status, productId, planName } = listed;
  const product = productId && { id: productId, name: planName };
  const plan = { product, name: planName };
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
