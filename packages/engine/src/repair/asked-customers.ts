// About whom Stripe has answered: the table `instep.asked_customers`. A comparison stores it, and the job that asks Stripe
// and the health read it.

import type { Query } from '../postgres/database.ts';
import type { Search } from '../postgres/examine.ts';
import type { NamedStatement } from '../postgres/statement.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { HAS_TEAM } from './repair-job.ts';

const STORE_ANSWERED = ({ teams }: ApplicationTables) => `
      insert into instep.asked_customers as asked (customer_id, first_asked_at, asked_at, again_at)
      select provider_customer_id,
             to_timestamp($2 / 1000.0),
             to_timestamp($2 / 1000.0),
             case
               when not exists (
                 select
                   from instep.customers as state
                  where state.customer_id = provider_customer_id
                    and state.subscription_status is not null
               )
                 then now() + interval '5 seconds'
             end
        from ${teams.rows} as teams
       where provider_customer_id = any ($1::text[])
       group by provider_customer_id
       order by provider_customer_id
          on conflict (customer_id) do update
         set asked_at = greatest(asked.asked_at, excluded.asked_at),
             again_at = case
                          when asked.again_at is not null
                               and excluded.again_at is not null
                               and asked.first_asked_at > now() - interval '1 day'
                            then now() + greatest(interval '5 seconds', now() - asked.first_asked_at)
                        end
       where asked.first_asked_at <= excluded.first_asked_at`;

/**
 * Stores that Stripe, asked at this time, has answered about these customers. Those of whom it had no subscription are
 * asked for again after doubling pauses, for a day, because a customer can be created long before the checkout is
 * completed. Customers without a team are left out, and those for whom an app has requested an answer since.
 */
export async function storeAnswered(
  query: Query,
  customerIds: readonly string[],
  askedAtMs: number,
): Promise<void> {
  const values = [customerIds, askedAtMs];
  await query({ name: 'store_answered', text: STORE_ANSWERED, values });
}

/** Those of these customers about whom Stripe has not answered a question since this time. */
export async function readUnanswered(
  query: Query,
  customerIds: readonly string[],
  sinceMs: number,
): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'read_unanswered',
    text: `
      select distinct linked.customer_id as "customerId"
        from unnest($1::text[]) as linked (customer_id)
       where not exists (
               select
                 from instep.asked_customers as asked
                where asked.customer_id = linked.customer_id
                  and asked_at >= to_timestamp($2 / 1000.0)
             )`,
    values: [customerIds, sinceMs],
  });
  return rows.map(({ customerId }) => customerId);
}

/** Whether Stripe has answered about a customer of a team. */
export async function readIsCompared(query: Query, customerId: string | null): Promise<boolean> {
  const text = `
      select from instep.asked_customers where customer_id = $1 and asked_at is not null`;
  const rows = await query({ name: 'read_is_compared', text, values: [customerId] });
  return rows.length > 0;
}

/** Lets maintenance ask for a customer's subscriptions at once, and again until Stripe has answered a later question. */
export async function requestSubscriptions(
  query: Query,
  customerId: string,
  requestedAtMs: number,
): Promise<void> {
  await query({
    name: 'request_subscriptions',
    text: `
      insert into instep.asked_customers (customer_id, first_asked_at, again_at)
      values ($1, to_timestamp($2 / 1000.0), now())
          on conflict (customer_id) do update
         set first_asked_at = excluded.first_asked_at,
             asked_at       = null,
             again_at       = excluded.again_at`,
    values: [customerId, requestedAtMs],
  });
}

const CUSTOMERS_AFTER = ({ teams }: ApplicationTables) => `
        select provider_customer_id as customer_id
          from ${teams.rows} as teams
         where ${isAfter('text', '$1::text', 'provider_customer_id')}`;

const NEW_OF_EXAMINED = () => `
        select distinct examined.customer_id
          from examined
          left join lateral (
                 select true as is_asked
                   from instep.asked_customers as asked
                  where asked.customer_id = examined.customer_id
                 offset 0
               ) as asked on true
         where is_asked is null
           and examined.customer_id <> all ($2::text[])
         order by customer_id
         limit $3`;

/** Those of the next customers of teams about whom Stripe was never asked. It reads indexes alone if there are none. */
export const NEW_CUSTOMERS: Search = {
  name: 'read_new_customers',
  rows: CUSTOMERS_AFTER,
  key: 'customer_id',
  due: NEW_OF_EXAMINED,
};

/** Those of whom an app has requested an answer, or of whom Stripe had no subscription a while ago; the former first. */
export const CUSTOMERS_TO_ASK: NamedStatement = {
  name: 'read_customers_to_ask',
  text: (tables) => `
      select customer_id as id
        from instep.asked_customers as asked
       where again_at < now()
         and customer_id <> all ($1::text[])
         and ${HAS_TEAM(tables, 'asked.customer_id')}
       order by asked_at is not null, customer_id
       limit $2`,
};
