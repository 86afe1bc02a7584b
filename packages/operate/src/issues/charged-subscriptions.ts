// The subscriptions that Stripe charges a customer for: the evidence that it charges one twice.

import { columnArrays, type Query, readStates } from 'instep-engine/postgres';
import { chargedSubscriptions } from 'instep-engine/rule';

/** A subscription that Stripe charges. What its latest event does not say is `null`. */
export type ChargedSubscription = {
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string | null;
  readonly planName: string | null;
  readonly quantity: number | null;
  readonly priceId: string | null;
  /** In the smallest unit of the currency. */
  readonly unitAmount: number | null;
  readonly currency: string | null;
  /** Since when it has its status. */
  readonly sinceMs: number;
};

/** The subscriptions of each of these customers that Stripe charges, the oldest first. */
export async function readChargedSubscriptions(
  query: Query,
  customerIds: readonly string[],
): Promise<ReadonlyMap<string, readonly ChargedSubscription[]>> {
  if (customerIds.length === 0) return new Map();
  const states = await readStates(query, customerIds);
  const charged = customerIds.flatMap((customerId) =>
    chargedSubscriptions(states.of(customerId)).flatMap(({ latest }) => {
      const { plan, status, createdSeconds } = latest.reported;
      const { providerSubscriptionId: subscriptionId, providerProductId: productId } = plan;
      if (subscriptionId === null) return [];
      const planName = plan.planName ?? states.names.get(productId) ?? null;
      const { priceId = null, quantity = null } = plan;
      const sinceMs = latest.sinceSeconds * 1_000;
      return {
        ...{ customerId, createdSeconds, subscriptionId, status, productId, planName },
        ...{ quantity, priceId, sinceMs },
      };
    }),
  );
  const prices = await readPrices(query, charged);
  const entries = customerIds.map((customerId) => {
    const subscriptions = charged
      .flatMap(({ customerId: of, createdSeconds: _, ...one }, index) =>
        of === customerId ? { ...one, ...(prices.get(index) ?? NO_PRICE) } : [],
      )
      .sort((a, b) => a.sinceMs - b.sinceMs || (a.subscriptionId < b.subscriptionId ? -1 : 1));
    return [customerId, subscriptions] as const;
  });
  return new Map(entries);
}

type Price = Pick<ChargedSubscription, 'unitAmount' | 'currency'>;

const NO_PRICE: Price = { unitAmount: null, currency: null };

/** What they cost, by index: the state of a customer does not say it, but their latest events do. */
async function readPrices(
  query: Query,
  charged: readonly {
    readonly customerId: string;
    readonly subscriptionId: string;
    readonly createdSeconds: number;
  }[],
): Promise<ReadonlyMap<number, Price>> {
  const rows = await query<Price & { index: number }>({
    name: 'read_prices',
    text: `
      select (ordinality - 1)::integer as index, unit_amount as "unitAmount", currency
        from unnest($1::text[], $2::text[], $3::bigint[])
             with ordinality as charged (customer_id, subscription_id, created_seconds)
       cross join lateral (
               select price.*
                 from instep.events as event
                cross join lateral instep.subscription_price(event.body) as price
                where event.customer_id = charged.customer_id
                  and event.subscription_id = charged.subscription_id
                  and event.created_at = to_timestamp(charged.created_seconds)
                order by event.position desc
                limit 1
             ) as newest`,
    values: columnArrays(charged, 'customerId', 'subscriptionId', 'createdSeconds'),
  });
  return new Map(rows.map(({ index, ...price }) => [index, price]));
}
