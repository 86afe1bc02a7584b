// Which customers pay for several subscriptions, `instep.double_billed` (docs/decisions/0029): stored with the event,
// read as an issue.

import { CHARGED_STATUSES } from '../../core/status.ts';
import type { Query } from '../database.ts';
import { ASKED_CUSTOMERS } from '../statement.ts';
import { isNotDismissed } from './issues.ts';

const IS_CHARGED = `
  state.subscription_id <> ''
  and latest_status in (${CHARGED_STATUSES.map((status) => `'${status}'`).join(', ')})`;

/**
 * Stores which of these customers have several subscriptions that Stripe charges, after their latest states were written
 * in the same transaction. Their lock guards it.
 */
export async function storeDoubleBilled(
  query: Query,
  customerIds: readonly string[],
): Promise<void> {
  await query({
    name: 'store_double_billed',
    text: `
      with charged as (
        select asked.customer_id,
               array(
                 select subscription_id
                   from instep.subscriptions as state
                  where customer_id = asked.customer_id
                    and ${IS_CHARGED}
                  order by subscription_id
               ) as subscription_ids
          from ${ASKED_CUSTOMERS}
      ), no_longer as (
        delete from instep.double_billed as found
         using charged
         where found.customer_id = charged.customer_id
           and cardinality(charged.subscription_ids) < 2
      )
      insert into instep.double_billed as found (customer_id, subscription_ids)
      select customer_id, subscription_ids
        from charged
       where cardinality(subscription_ids) > 1
          on conflict (customer_id) do update
         set subscription_ids = excluded.subscription_ids,
             changed_at       = excluded.changed_at
       where found.subscription_ids <> excluded.subscription_ids`,
    values: [customerIds],
  });
}

/** Those that an operator has dismissed are on purpose, until they have other subscriptions. */
export const FROM_DOUBLE_BILLED = `
        from instep.double_billed as found
       where ${isNotDismissed("'customer:' || customer_id", 'changed_at')}`;

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

export type DoubleBilled = {
  readonly customerId: string;
  /** Since when there are two. */
  readonly sinceMs: number;
  /** The oldest first. */
  readonly subscriptions: readonly ChargedSubscription[];
};

/** The customers with several subscriptions that Stripe charges, ordered by id. */
export async function readDoubleBilled(
  query: Query,
  { afterCustomerId, limit }: { readonly afterCustomerId: string; readonly limit: number },
): Promise<DoubleBilled[]> {
  const found = await query<Omit<DoubleBilled, 'sinceMs'>>({
    name: 'read_double_billed',
    text: `
      select customer_id as "customerId",
             (
               select jsonb_agg(
                        jsonb_build_object(
                          'subscriptionId', state.subscription_id,
                          'status', latest_status,
                          'productId', latest_product_id,
                          'planName', coalesce(latest_plan_name, products.name),
                          'quantity', state.quantity,
                          'priceId', price_id,
                          'unitAmount', unit_amount,
                          'currency', currency,
                          'sinceMs', (extract(epoch from latest_since) * 1000)::bigint
                        ) order by latest_since, state.subscription_id
                      )
                 from instep.subscriptions as state
                 left join instep.products on products.product_id = latest_product_id
                 left join lateral (
                        select price.*
                          from instep.events as event
                         cross join lateral instep.subscription_price(event.body) as price
                         where event.customer_id = state.customer_id
                           and event.subscription_id = state.subscription_id
                           and event.created_at = latest_created_at
                         order by event.position desc
                         limit 1
                      ) as newest on true
                where state.customer_id = found.customer_id
                  and state.subscription_id = any (found.subscription_ids)
             ) as subscriptions
      ${FROM_DOUBLE_BILLED}
         and customer_id > $1
       order by customer_id
       limit $2`,
    values: [afterCustomerId, limit],
  });
  return found.map(({ customerId, subscriptions }) => ({
    customerId,
    sinceMs: subscriptions[1]?.sinceMs ?? 0,
    subscriptions,
  }));
}
