import type { ListedSubscription } from '../core/listed-subscription.ts';
import type { Query } from '../postgres/database.ts';

/** Forgets everything that was listed. */
export async function forgetListed(query: Query): Promise<void> {
  await query('truncate instep.listed_subscriptions');
}

/** Remembers subscriptions as they were listed, each as it was listed last. */
export async function rememberListed(
  query: Query,
  listed: readonly ListedSubscription[],
): Promise<void> {
  await query(
    `insert into instep.listed_subscriptions
            (customer_id, subscription_id, status, product_id, plan_name, began_at, ended_at, as_of)
     select customer_id, subscription_id, status, product_id, plan_name,
            to_timestamp(began_seconds), to_timestamp(ended_seconds), to_timestamp(as_of_seconds)
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
                   $7::bigint[], $8::bigint[])
         as listed (customer_id, subscription_id, status, product_id, plan_name, began_seconds,
                    ended_seconds, as_of_seconds)
         on conflict (customer_id, subscription_id) do update
        set status     = excluded.status,
            product_id = excluded.product_id,
            plan_name  = excluded.plan_name,
            began_at   = excluded.began_at,
            ended_at   = excluded.ended_at,
            as_of      = excluded.as_of`,
    [
      listed.map(({ customerId }) => customerId),
      listed.map(({ subscriptionId }) => subscriptionId),
      listed.map(({ status }) => status),
      listed.map(({ productId }) => productId),
      listed.map(({ planName }) => planName),
      listed.map(({ beganSeconds }) => beganSeconds),
      listed.map(({ endedSeconds }) => endedSeconds),
      listed.map(({ asOfSeconds }) => asOfSeconds),
    ],
  );
}

/**
 * Remembers that Stripe knows those of these customers whom a team follows, and of whom no
 * subscription was listed. Returns how many these were.
 */
export async function rememberCustomers(
  query: Query,
  customerIds: readonly string[],
): Promise<number> {
  const rows = await query(
    `insert into instep.listed_subscriptions (customer_id, subscription_id)
     select customer.id, ''
       from unnest($1::text[]) as customer (id)
      where exists (
              select
                from teams
               where provider_customer_id = customer.id
            )
        and not exists (
              select
                from instep.listed_subscriptions as listed
               where listed.customer_id = customer.id
            )
         on conflict do nothing
     returning customer_id`,
    [customerIds],
  );
  return rows.length;
}

/** The subscriptions of these customers that were listed. */
export async function readListed(
  query: Query,
  customerIds: readonly string[],
): Promise<ListedSubscription[]> {
  return await query<ListedSubscription>(
    `select customer_id as "customerId",
            subscription_id as "subscriptionId",
            status,
            product_id as "productId",
            plan_name as "planName",
            extract(epoch from began_at)::bigint as "beganSeconds",
            extract(epoch from ended_at)::bigint as "endedSeconds",
            extract(epoch from as_of)::bigint as "asOfSeconds"
       from instep.listed_subscriptions
      where customer_id = any ($1::text[])
        and subscription_id <> ''`,
    [customerIds],
  );
}

/** Teams whose customer was not listed, after this id, in the order of their ids. */
export async function readUnlistedTeams(
  query: Query,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<{ id: number; customerId: string }[]> {
  return await query<{ id: number; customerId: string }>(
    `select teams.id, teams.provider_customer_id as "customerId"
       from teams
      where teams.id > $1
        and teams.provider_customer_id is not null
        and not exists (
              select
                from instep.listed_subscriptions as listed
               where listed.customer_id = teams.provider_customer_id
            )
      order by teams.id
      limit $2`,
    [afterId, limit],
  );
}

/** How many customers teams follow that were not listed. */
export async function countUnlistedCustomers(query: Query): Promise<number> {
  const [row] = await query<{ count: number }>(
    `select count(distinct teams.provider_customer_id) as count
       from teams
      where teams.provider_customer_id is not null
        and not exists (
              select
                from instep.listed_subscriptions as listed
               where listed.customer_id = teams.provider_customer_id
            )`,
  );
  return row?.count ?? 0;
}

/** A customer whom no team follows, with the statuses of the subscriptions that are not over. */
export type TeamlessCustomer = {
  readonly customerId: string;
  readonly statuses: readonly string[];
};

/** Customers whom no team follows, and who have something that is not over, after this id. */
export async function readTeamlessCustomers(
  query: Query,
  { afterId, limit }: { readonly afterId: string; readonly limit: number },
): Promise<TeamlessCustomer[]> {
  return await query<TeamlessCustomer>(
    `select listed.customer_id as "customerId",
            array_agg(listed.status order by listed.subscription_id) as statuses
       from instep.listed_subscriptions as listed
      where listed.customer_id > $1
        and listed.subscription_id <> ''
        and listed.status not in ('canceled', 'incomplete_expired')
        and not exists (
              select
                from teams
               where teams.provider_customer_id = listed.customer_id
            )
      group by listed.customer_id
      order by listed.customer_id
      limit $2`,
    [afterId, limit],
  );
}

/** About how many subscriptions are to be listed: as many as last time, as we know, or as teams. */
export async function estimateListed(query: Query): Promise<number> {
  const [row] = await query<{ count: number }>(
    `select greatest(
              (select (progress -> 'counts' ->> 'subscriptions')::bigint
                 from instep.leased_jobs
                where name = 'reconcile'),
              (select count(*) from instep.subscriptions),
              (select count(*) from teams where provider_customer_id is not null)
            ) as count`,
  );
  return row?.count ?? 0;
}
