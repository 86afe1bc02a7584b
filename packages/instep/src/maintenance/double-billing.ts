import { CHARGED_STATUSES } from '../core/status.ts';
import type { Query } from '../postgres/database.ts';

const IS_CHARGED = `
  subscription_id <> ''
  and status in (${CHARGED_STATUSES.map((status) => `'${status}'`).join(', ')})`;

/** With more of them, the subscriptions are probably on purpose. */
const MAX_FOUND = 1_000;

/**
 * Finds the customers with several subscriptions that Stripe charges. It reads all latest states, so it is a job, and
 * what it found is counted and shown.
 */
export async function findDoubleBilled(query: Query): Promise<void> {
  await query({
    name: 'find_double_billed',
    text: `
      with found as (
        select customer_id
          from instep.latest_states
         where ${IS_CHARGED}
         group by customer_id
        having count(*) > 1
         order by customer_id
         limit ${MAX_FOUND}
      ), gone as (
        delete from instep.double_billed
         where customer_id not in (select customer_id from found)
      )
      insert into instep.double_billed (customer_id)
      select customer_id from found
          on conflict do nothing`,
  });
}

// Customer by customer, and as they are now: the job ran some seconds ago.
export const DOUBLE_BILLED = `
        from instep.double_billed as found
       cross join lateral (
               select array_agg(subscription_id order by subscription_id) as subscription_ids,
                      (array_agg(since order by since))[2] as double_since
                 from instep.latest_states
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
      with page as materialized (
        select customer_id, double_since
        ${DOUBLE_BILLED}
           and customer_id > $1
         order by customer_id
         limit $2
      )
      select page.customer_id as "customerId",
             (extract(epoch from double_since) * 1000)::bigint as "sinceMs",
             subscriptions
        from page
       cross join lateral (
               select jsonb_agg(
                        jsonb_build_object(
                          'subscriptionId', latest.subscription_id,
                          'status', latest.status,
                          'productId', latest.product_id,
                          'planName', coalesce(latest.plan_name, products.name),
                          'quantity', latest.quantity,
                          'priceId', newest.price_id,
                          'unitAmount', newest.unit_amount,
                          'currency', newest.currency,
                          'sinceMs', (extract(epoch from latest.since) * 1000)::bigint
                        ) order by latest.since, latest.subscription_id
                      ) as subscriptions
                 from (
                        select *
                          from instep.latest_states
                         where customer_id = page.customer_id
                           and ${IS_CHARGED}
                      ) as latest
                 left join instep.products on products.product_id = latest.product_id
                 left join lateral (
                        select details.*
                          from instep.events as event
                         cross join lateral instep.subscription_details(event.body) as details
                         where event.customer_id = latest.customer_id
                           and event.subscription_id = latest.subscription_id
                           and event.created_at = latest.created_at
                         order by event.position desc
                         limit 1
                      ) as newest on true
             ) as listed
       order by page.customer_id`,
    values: [afterCustomerId, limit],
  });
}

/** Takes back that a customer has its subscriptions on purpose. */
export async function forgetAcceptance(query: Query, customerId: string): Promise<void> {
  await query({
    name: 'forget_acceptance',
    text: 'update instep.double_billed set accepted_subscription_ids = null where customer_id = $1',
    values: [customerId],
  });
}

/** Notes that a customer has its subscriptions on purpose. It is no issue until they are others. */
export async function acceptDoubleBilling(query: Query, customerId: string): Promise<void> {
  await query({
    name: 'accept_double_billing',
    text: `
      update instep.double_billed
         set accepted_subscription_ids = array(
               select subscription_id
                 from instep.latest_states
                where customer_id = $1
                  and ${IS_CHARGED}
                order by subscription_id
             )
       where customer_id = $1`,
    values: [customerId],
  });
}
