// Whom to ask Stripe for, and when again: the customers of teams of whom no subscription is known. The table
// `instep.new_customers` has them. Reconciliation and a checkout say whom they have asked for, or could not.

import type { Query } from '../postgres/database.ts';
import { type Examined, examine } from '../postgres/examine.ts';
import type { LinkedTeam } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';
import { type LeasedRun, READS_ALL_TEAMS, sweep, withLease } from './lease.ts';
import type { ReconciliationIssue } from './reconcile/drift.ts';
import { listCustomer } from './reconcile/listed-subscriptions.ts';
import type { ReconcileServices } from './reconcile/progress.ts';
import { reconcileSubscribed } from './reconcile/reconcile-teams.ts';
import type { Job } from './worker.ts';

export const FIRST_SUBSCRIPTIONS_JOB = 'first-subscriptions';

const BATCH = 50;

/**
 * Asks Stripe for the subscriptions of customers who are linked to a team and have no known event, or whose
 * subscription only the application knows: `customer.subscription.created` is not one of the two types, and a trial
 * has no other event for two weeks. Also of those for whom a call failed because Stripe did not answer.
 */
export function createFirstSubscriptionsJob(services: ReconcileServices): Job['run'] {
  const { database, logger, nonce } = services;
  const { query } = database;
  const lease = { name: FIRST_SUBSCRIPTIONS_JOB, holder: nonce(), ...READS_ALL_TEAMS };
  const onIssue = (issue: ReconciliationIssue) =>
    logger.info(issue, 'first subscription of a team');
  const options = { ...services, isDryRun: false, onIssue };

  async function ask(customerId: string, signal: AbortSignal): Promise<void> {
    const listed = await listCustomer(customerId, options, signal);
    await reconcileSubscribed(customerId, listed?.subscriptions ?? null, options, signal);
    await query({ name: 'store_answered', text: STORE_ANSWERED, values: [customerId] });
  }

  /** New customers come before all repetitions. */
  async function take(run: LeasedRun): Promise<string[]> {
    const next = (after: number | string | null) =>
      takeNewCustomers(query, after === null ? null : String(after));
    const added = await sweep(run, next, { limit: BATCH });
    return [...added, ...(await takeAgain(query, Math.max(0, BATCH - added.length)))];
  }

  return async (signal) => {
    // The lease covers the reads only: calls to Stripe that take long must not delay the next ones.
    const taken = await withLease(query, lease, take);
    const customerIds = [...new Set(taken)];
    for (const [index, customerId] of customerIds.entries()) {
      if (signal.aborted) return;
      try {
        await ask(customerId, signal);
      } catch (error) {
        // A key without the permission is no failure of this customer.
        const isOfAll = error instanceof StripeApiFailed && error.isForbidden;
        const values = [customerIds.slice(index), isOfAll ? null : customerId];
        await query({ name: 'ask_unanswered_again', text: ASK_AGAIN, values });
        throw error;
      }
    }
  };
}

/** 5 seconds after the first time, then after doubling delays for a day. */
const DUE_AGAIN = `case
                 when now() - new_customer.first_asked_at < interval '1 day'
                   then now() + greatest(now() - new_customer.first_asked_at, interval '5 seconds')
                 else 'infinity'
               end`;

/**
 * SQL for whether Stripe has answered about the customer of a row of `teams`. While `is_requested`, an answer is
 * outstanding.
 */
export const IS_COMPARED = `exists (
               select
                 from instep.new_customers
                where customer_id = provider_customer_id
                  and not is_requested
             )`;

/** Whether Stripe has answered about a customer of a team. */
export async function readIsCompared(query: Query, customerId: string | null): Promise<boolean> {
  const text = `select from (values ($1::text)) as team (provider_customer_id) where ${IS_COMPARED}`;
  const rows = await query({ name: 'read_is_compared', text, values: [customerId] });
  return rows.length > 0;
}

/** SQL for whether no subscription is known of the customer of a row of `teams`, or not the one of the row. */
const IS_UNKNOWN = `not exists (
                   select
                     from instep.subscriptions as state
                    where state.customer_id = provider_customer_id
                      and state.status is not null
                      and state.subscription_id = coalesce(provider_subscription_id, state.subscription_id)
                 )`;

/** How many customers one statement examines, in indexes alone if there is none to ask for. */
const CUSTOMERS = 5_000;

const FIND_NEW_CUSTOMERS = ({ teams }: ApplicationTables) => `
      unasked as (
        select distinct examined.customer_id
          from examined
          left join lateral (
                 select true as is_asked
                   from instep.new_customers as new_customer
                  where new_customer.customer_id = examined.customer_id
                 offset 0
               ) as asked on true
         where is_asked is null
      ), found as (
        insert into instep.new_customers (customer_id, subscription_id, due_at, is_requested)
        select customer_id, subscription_id, now() + interval '5 seconds', true
          from unasked
         cross join lateral (
                 select max(provider_subscription_id) as subscription_id,
                        bool_or(${IS_UNKNOWN}) as is_unknown
                   from ${teams.rows} as teams
                  where provider_customer_id = unasked.customer_id
               ) as linked
         where is_unknown
            or exists (
                 select
                   from instep.leased_jobs
                  where name = 'reconcile'
                    and progress -> 'completed' is not null
               )
         order by customer_id
         limit $2
            on conflict do nothing
        returning customer_id as "customerId"
      )`;

/**
 * Those of the next customers of teams for whom Stripe was never asked, and of whom no subscription is known, or whose
 * team has come since the first comparison of all teams.
 */
async function takeNewCustomers(
  query: Query,
  after: string | null,
): Promise<Examined<string, string>> {
  const { found, examinedTo } = await examine<{ customerId: string }, string>(query, {
    name: 'take_new_customers',
    examined: ({ teams }) => `
        select provider_customer_id as customer_id
          from ${teams.rows} as teams
         where ${isAfter('text', '$1::text', 'provider_customer_id')}
         order by provider_customer_id
         limit ${CUSTOMERS}`,
    key: 'customer_id',
    limit: CUSTOMERS,
    found: FIND_NEW_CUSTOMERS,
    values: [after, BATCH],
  });
  return { found: found.map(({ customerId }) => customerId), examinedTo };
}

const STORE_WRITTEN = ({ teams }: ApplicationTables) => `
      update instep.new_customers as new_customer
         set subscription_id = written.subscription_id,
             first_asked_at  = now(),
             due_at          = now()
        from unnest($1::text[]) as asked (customer_id)
       cross join lateral (
               select max(provider_subscription_id) as subscription_id
                 from ${teams.rows} as teams
                where provider_customer_id = asked.customer_id
             ) as written
       where new_customer.customer_id = asked.customer_id
         and written.subscription_id <> coalesce(new_customer.subscription_id, '')`;

/**
 * Lets the job ask for these customers at once, if the application has written a subscription to their team since it
 * last asked.
 */
export async function storeWritten(query: Query, customerIds: readonly string[]): Promise<void> {
  if (customerIds.length === 0) return;
  await query({ name: 'store_written', text: STORE_WRITTEN, values: [customerIds] });
}

const TAKE_AGAIN = ({ teams }: ApplicationTables) => `
      with due as (
        select *
          from instep.new_customers
         where due_at < now()
           and due_at < 'infinity'
         order by due_at desc
         limit $1
      ), judged as materialized (
        select customer_id,
               due_at,
               linked.is_unknown is not null as is_linked,
               is_requested or linked.is_unknown as is_open
          from due
         cross join lateral (
                 select bool_or(${IS_UNKNOWN}) as is_unknown
                   from ${teams.rows} as teams
                  where provider_customer_id = due.customer_id
               ) as linked
      ), unlinked as (
        -- It is asked for again if a team gets it.
        delete from instep.new_customers as new_customer
         using judged
         where new_customer.customer_id = judged.customer_id
           and new_customer.due_at = judged.due_at
           and not is_linked
      )
      update instep.new_customers as new_customer
         set due_at = case when is_open then ${DUE_AGAIN} else 'infinity' end
        from judged
       where new_customer.customer_id = judged.customer_id
         -- It was not requested meanwhile.
         and new_customer.due_at = judged.due_at
         and is_linked
      returning new_customer.customer_id as "customerId", is_open as "isOpen"`;

/**
 * Customers for whom Stripe was asked and should be asked again now, those that became due last first: still no
 * subscription of theirs is known, or a call got no answer. Each is due again, because a customer can be created long
 * before the checkout is completed.
 */
async function takeAgain(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ customerId: string; isOpen: boolean }>({
    name: 'take_customers_again',
    text: TAKE_AGAIN,
    values: [limit],
  });
  return rows.flatMap(({ customerId, isOpen }) => (isOpen ? customerId : []));
}

const STORE_ANSWERED = `
      update instep.new_customers
         set is_requested = false
       where customer_id = $1
         and is_requested`;

/**
 * The customers who were not asked for are due at once. The one whose call failed ($2) comes after ever longer delays,
 * up to an hour, so that it does not keep the others waiting. Whether an answer is outstanding stays as it is.
 */
const ASK_AGAIN = `
      update instep.new_customers
         set first_asked_at = case when customer_id = $2::text then first_asked_at else now() end,
             due_at         = case
                                when customer_id = $2::text
                                  then now() + least(
                                         greatest(now() - first_asked_at, interval '5 seconds'),
                                         interval '1 hour'
                                       )
                                else now()
                              end
       where customer_id = any ($1::text[])`;

/** Lets the job ask for these customers' subscriptions at once, and again until Stripe answers. */
export async function requestSubscriptions(
  query: Query,
  customerIds: readonly string[],
): Promise<void> {
  await query({
    name: 'request_subscriptions',
    text: `
      insert into instep.new_customers (customer_id, due_at, is_requested)
      select customer_id, now(), true
        from unnest($1::text[]) as customer (customer_id)
          on conflict (customer_id) do update
         set first_asked_at = now(),
             due_at         = now(),
             is_requested   = true`,
    values: [customerIds],
  });
}

/** Stores that Stripe has answered about the customers of these teams. A request since `askedAtMs` stays open. */
export async function storeAnswered(
  query: Query,
  teams: readonly LinkedTeam[],
  askedAtMs: number,
): Promise<void> {
  await query({
    name: 'store_all_answered',
    text: `
      insert into instep.new_customers as new_customer (customer_id, due_at)
      select distinct customer_id,
             case
               when exists (
                 select
                   from instep.subscriptions as state
                  where state.customer_id = customer.customer_id
                    and state.status is not null
               )
                 then 'infinity'
               else now() + interval '5 seconds'
             end
        from unnest($1::text[]) as customer (customer_id)
          on conflict (customer_id) do update
         set due_at       = ${DUE_AGAIN},
             is_requested = new_customer.is_requested
                            and new_customer.first_asked_at > to_timestamp($2 / 1000.0)`,
    values: [teams.map(({ customerId }) => customerId), askedAtMs],
  });
}
