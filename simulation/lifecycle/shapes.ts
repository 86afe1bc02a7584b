import type { JsonObject } from './json.ts';
import type { Subscription } from './subscription.ts';

/**
 * How an API version renders a subscription. `classic`: the item has a plan and a price, the
 * subscription has the period. `price`: only the price. `basil` (2025): the item has the period.
 * `expanded`: the product is an object with a name. `ancient` (before 2018): the plan has a name and
 * no product.
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

/** The subscription as the API returns it. */
export function renderSubscription(subscription: Subscription, shape: Shape): JsonObject {
  const { id, status, invoices, paymentMethods, endedAtSeconds } = subscription;
  const item = renderItem(subscription, shape);
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

function renderItem(subscription: Subscription, shape: Shape): JsonObject {
  const { id, quantity } = subscription;
  const { id: productId, cents, name } = subscription.product;
  const product =
    shape === 'expanded' ? { id: productId, object: 'product', active: true, name } : productId;
  const planId = `price_${productId}`;
  const plan: JsonObject =
    shape === 'ancient'
      ? { id: planId, object: 'plan', amount: cents, name }
      : { id: planId, object: 'plan', active: true, amount: cents, product };
  return {
    id: `si_${id}`,
    object: 'subscription_item',
    ...(shape === 'basil' && periodOf(subscription)),
    ...(shape !== 'price' && { plan }),
    ...(shape !== 'ancient' && {
      price: { id: planId, object: 'price', unit_amount: cents, product },
    }),
    quantity,
    subscription: id,
  };
}

function periodOf(subscription: Subscription): JsonObject {
  return {
    current_period_end: subscription.periodEndSeconds,
    current_period_start: subscription.periodStartSeconds,
  };
}
