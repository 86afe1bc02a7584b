/** What a made event says. Times are in whole seconds since 1970. */
export type MadeEvent = {
  readonly eventId: string;
  readonly type: string;
  readonly createdSeconds: number;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string;
  readonly previousAttributes?: Readonly<Record<string, unknown>>;
};

const PERIOD_SECONDS = 30 * 24 * 60 * 60;

/** An event as Stripe sends it since 2025: the product is an id, the period stands on the item. */
export function makeSubscriptionEvent(made: MadeEvent) {
  const { createdSeconds, customerId, subscriptionId, status, productId } = made;
  const isEnded = status === 'canceled';
  const price = `price_${productId}`;
  return {
    id: made.eventId,
    object: 'event',
    api_version: '2025-08-27.basil',
    created: createdSeconds,
    data: {
      object: {
        id: subscriptionId,
        object: 'subscription',
        cancel_at_period_end: false,
        canceled_at: isEnded ? createdSeconds : null,
        collection_method: 'charge_automatically',
        created: createdSeconds,
        currency: 'usd',
        customer: customerId,
        ended_at: isEnded ? createdSeconds : null,
        items: {
          object: 'list',
          data: [
            {
              id: `si_${subscriptionId}`,
              object: 'subscription_item',
              created: createdSeconds,
              current_period_end: createdSeconds + PERIOD_SECONDS,
              current_period_start: createdSeconds,
              metadata: {},
              plan: {
                id: price,
                object: 'plan',
                active: true,
                interval: 'month',
                product: productId,
              },
              price: { id: price, object: 'price', active: true, product: productId },
              quantity: 1,
              subscription: subscriptionId,
            },
          ],
          has_more: false,
          total_count: 1,
          url: `/v1/subscription_items?subscription=${subscriptionId}`,
        },
        livemode: false,
        metadata: {},
        status,
      },
      ...(made.previousAttributes && { previous_attributes: made.previousAttributes }),
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: made.type,
  };
}
