import * as v from 'valibot';
import { asObject, isList, type Json, type JsonObject } from '../core/json.ts';
import type { ListedSubscription } from '../core/listed-subscription.ts';
import { parseChange } from './parse-event.ts';

const seconds = v.fallback(v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0))), null);

const timesShape = v.object({ created: seconds, ended_at: seconds });

/** Parses a subscription from Stripe's list; `null` when its shape is unknown. */
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
    details: detailsOf(listed),
    asOfSeconds,
  };
}

/** The subscription as JSON, reduced to what a snapshot needs. */
export function toSubscriptionJson(listed: ListedSubscription): Json {
  const { subscriptionId, customerId, status, productId, planName, details } = listed;
  const { item, price, ...members } = details;
  const product = productId && { id: productId, name: planName };
  const plan = { product, name: planName };
  return {
    ...members,
    id: subscriptionId,
    object: 'subscription',
    created: listed.beganSeconds,
    customer: customerId,
    ended_at: listed.endedSeconds,
    items: { data: [{ ...asObject(item), plan, price: price ?? null }] },
    status,
  };
}

/** The details that the view `instep.team_subscriptions` shows, from any API version. */
function detailsOf(listed: Json): JsonObject {
  const subscription = asObject(listed) ?? {};
  const items = asObject(subscription.items)?.data;
  const item = asObject(isList(items) ? items[0] : null) ?? {};
  const price = asObject(item.price ?? item.plan ?? subscription.plan) ?? {};
  const { id = null, currency = null, unit_amount: amount = price.amount ?? null } = price;
  return {
    ...pick(subscription, 'cancel_at', 'cancel_at_period_end', 'current_period_end', 'trial_end'),
    ...pick(subscription, 'currency', 'quantity'),
    item: pick(item, 'current_period_end', 'quantity'),
    price: { id, currency, unit_amount: amount },
  };
}

function pick(object: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, object[name] ?? null]));
}
