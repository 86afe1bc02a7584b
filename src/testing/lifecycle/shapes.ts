import type { Json, JsonObject } from './json.ts';
import type { Subscription } from './subscription.ts';

/**
 * How the API shows a subscription: it depends on the version that the endpoint was made with.
 * `classic` has an item's plan and price, and the period on the subscription; `price` only the
 * price; `basil` (2025) the period on the item; `expanded` the product as an object, with a name;
 * `ancient` (before 2018) a plan with a name and without a product.
 */
export type Shape = 'classic' | 'price' | 'basil' | 'expanded' | 'ancient';

export const SHAPES: readonly Shape[] = ['classic', 'price', 'basil', 'expanded', 'ancient'];

export const API_VERSIONS: Readonly<Record<Shape, string>> = {
  classic: '2020-08-27',
  price: '2022-11-15',
  basil: '2025-08-27.basil',
  expanded: '2024-06-20',
  ancient: '2017-06-05',
};

/** The subscription as the API shows it. */
export function show(subscription: Subscription, shape: Shape): JsonObject {
  const { id, status, invoices, paymentMethods, endedAtSeconds } = subscription;
  const item = showItem(subscription, shape);
  return {
    id,
    object: 'subscription',
    cancel_at: subscription.cancelsAtPeriodEnd ? subscription.periodEndSeconds : null,
    cancel_at_period_end: subscription.cancelsAtPeriodEnd,
    canceled_at: endedAtSeconds,
    collection_method: 'charge_automatically',
    created: subscription.startedAtSeconds,
    ...(shape !== 'basil' && periodOf(subscription)),
    customer: subscription.customerId,
    default_payment_method: paymentMethods === 0 ? null : `pm_${id}_${paymentMethods}`,
    ended_at: endedAtSeconds,
    items: { object: 'list', data: [item], has_more: false, total_count: 1 },
    latest_invoice: `in_${id}_${invoices}`,
    livemode: false,
    metadata: {},
    pause_collection: subscription.isCollectionPaused
      ? { behavior: 'void', resumes_at: null }
      : null,
    ...(item.plan !== undefined && { plan: item.plan, quantity: subscription.quantity }),
    status,
    trial_end: subscription.trialEndSeconds,
  };
}

function showItem(subscription: Subscription, shape: Shape): JsonObject {
  const { id, product, quantity } = subscription;
  const shown: Json = shape === 'expanded' ? { ...showProduct(subscription) } : product.id;
  const planId = `price_${product.id}`;
  const plan: JsonObject =
    shape === 'ancient'
      ? { id: planId, object: 'plan', amount: product.cents, name: product.name }
      : { id: planId, object: 'plan', active: true, amount: product.cents, product: shown };
  const price = { id: planId, object: 'price', unit_amount: product.cents, product: shown };
  return {
    id: `si_${id}`,
    object: 'subscription_item',
    ...(shape === 'basil' && periodOf(subscription)),
    ...(shape !== 'price' && { plan }),
    ...(shape !== 'ancient' && { price }),
    quantity,
    subscription: id,
  };
}

function showProduct({ product }: Subscription): JsonObject {
  return { id: product.id, object: 'product', active: true, name: product.name };
}

function periodOf(subscription: Subscription): JsonObject {
  return {
    current_period_end: subscription.periodEndSeconds,
    current_period_start: subscription.periodStartSeconds,
  };
}
