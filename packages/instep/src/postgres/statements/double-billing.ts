import { CHARGED_STATUSES } from '../../core/status.ts';
import type { Query } from '../database.ts';
import { ASKED_CUSTOMERS } from '../statement.ts';

const IS_CHARGED = `
  state.subscription_id <> ''
  and latest_status in (${CHARGED_STATUSES.map((status) => `'${status}'`).join(', ')})`;

/**
 * Notes which of these customers have several subscriptions that Stripe charges, after their latest states were written
 * in the same transaction. Their lock guards it.
 */
export async function noteDoubleBilled(
  query: Query,
  customerIds: readonly string[],
): Promise<void> {
  await query({
    name: 'note_double_billed',
    text: `
      with counted as (
        select asked.customer_id,
               (
                 select count(*)
                   from instep.subscriptions as state
                  where customer_id = asked.customer_id
                    and ${IS_CHARGED}
               ) > 1 as is_double
          from ${ASKED_CUSTOMERS}
      ), gone as (
        delete from instep.double_billed as found
         using counted
         where found.customer_id = counted.customer_id
           and not is_double
      )
      insert into instep.double_billed (customer_id)
      select customer_id
        from counted
       where is_double
          on conflict do nothing`,
    values: [customerIds],
  });
}

export const DOUBLE_BILLED = `
        from instep.double_billed as found
       cross join lateral (
               select array_agg(subscription_id order by subscription_id) as subscription_ids,
                      (array_agg(latest_since order by latest_since))[2] as double_since
                 from instep.subscriptions as state
                where customer_id = found.customer_id
                  and ${IS_CHARGED}
             ) as charged
       where cardinality(subscription_ids) > 1
         and subscription_ids is distinct from accepted_subscription_ids`;

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
  return await query<DoubleBilled>({
    name: 'read_double_billed',
    text: `
      select customer_id as "customerId",
             (extract(epoch from double_since) * 1000)::bigint as "sinceMs",
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
                        select details.*
                          from instep.events as event
                         cross join lateral instep.subscription_details(event.body) as details
                         where event.customer_id = state.customer_id
                           and event.subscription_id = state.subscription_id
                           and event.created_at = latest_created_at
                         order by event.position desc
                         limit 1
                      ) as newest on true
                where state.customer_id = found.customer_id
                  and ${IS_CHARGED}
             ) as subscriptions
      ${DOUBLE_BILLED}
         and customer_id > $1
       order by customer_id
       limit $2`,
    values: [afterCustomerId, limit],
  });
}

/** Notes whether a customer has its subscriptions on purpose. It is no issue then until they are others. */
export async function acceptDoubleBilling(
  query: Query,
  customerId: string,
  isAccepted: boolean,
): Promise<void> {
  await query({
    name: 'accept_double_billing',
    text: `
      update instep.double_billed
         set accepted_subscription_ids = case
               when $2 then array(
                 select subscription_id
                   from instep.subscriptions as state
                  where customer_id = $1
                    and ${IS_CHARGED}
                  order by subscription_id
               )
             end
       where customer_id = $1`,
    values: [customerId, isAccepted],
  });
}
