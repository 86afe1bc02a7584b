import type { Query } from '../postgres/database.ts';
import { readTeamsOf } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';
import { READS_ALL_TEAMS, withLease } from './lease.ts';
import type { ReconciliationIssue } from './reconcile/drift.ts';
import { listCustomer } from './reconcile/listed-subscriptions.ts';
import type { ReconcileServices } from './reconcile/progress.ts';
import { reconcileTeams } from './reconcile/reconcile-teams.ts';
import type { Job } from './worker.ts';
import { pauseWithoutPermission } from './worker.ts';

export const FIRST_SUBSCRIPTIONS_JOB = 'first-subscriptions';

const BATCH = 50;

/** How long to pause when the key lacks permission. */
const PAUSE_MS = 60 * 60 * 1_000;

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
    const listed = await listCustomer(customerId, services, signal);
    await query({ name: 'note_answered', text: NOTE_ANSWERED, values: [customerId] });
    // Only a complete reconciliation clears a plan that the application wrote.
    if (listed === null || listed.subscriptions.length === 0) return;
    const teams = await readTeamsOf(query, [customerId]);
    await reconcileTeams(teams, listed.subscriptions, options, signal);
  }

  async function run(signal: AbortSignal): Promise<void> {
    const take = () => takeNewCustomers(query, BATCH);
    // The lease covers the read only: calls to Stripe that take long must not delay the next one.
    const customerIds = (await withLease(query, lease, take)) ?? [];
    for (const [index, customerId] of customerIds.entries()) {
      if (signal.aborted) return;
      try {
        await ask(customerId, signal);
      } catch (err) {
        // Stripe refuses the id, for example an empty one. The other customers are still asked for.
        if (!isRefusedByStripe(err)) {
          await requestSubscriptions(query, customerIds.slice(index));
          throw err;
        }
        logger.warn({ customerId, err }, 'customer id refused by Stripe');
      }
    }
  }

  return pauseWithoutPermission(run, { job: FIRST_SUBSCRIPTIONS_JOB, logger, pauseMs: PAUSE_MS });
}

/** 5 seconds after the first time, then after doubling delays for a day. */
const DUE_AGAIN = `case
                 when now() - known.first_asked_at < interval '1 day'
                   then now() + (now() - known.first_asked_at)
                 else 'infinity'
               end`;

/** SQL for whether the application has written another subscription since Stripe was asked. */
const isWritten = (row: string) =>
  `coalesce(${row}.subscription_id <> coalesce(known.subscription_id, ''), false)`;

/** SQL for whether Stripe was ever asked for the subscriptions of the customer of a row of `teams`. */
export const IS_COMPARED = `exists (
               select from instep.new_customers where customer_id = provider_customer_id
             )`;

const TAKE_NEW_CUSTOMERS = ({ teams }: ApplicationTables) => `
      with unknown as materialized (
        select provider_customer_id as customer_id,
               max(provider_subscription_id) as subscription_id
          from ${teams.rows} as teams
         where provider_customer_id is not null
           and (
                 not exists (
                   select
                     from instep.subscriptions as state
                    where state.customer_id = provider_customer_id
                      and state.status is not null
                      and state.subscription_id = coalesce(provider_subscription_id, state.subscription_id)
                 )
                 or provider_customer_id in (
                   select requested.customer_id
                     from instep.new_customers as requested
                    where requested.is_requested
                 )
                 or not ${IS_COMPARED} and exists (
                   select
                     from instep.leased_jobs
                    where name = 'reconcile'
                      and progress -> 'completed' is not null
                 )
               )
         group by provider_customer_id
      ), due as (
        select unknown.customer_id, unknown.subscription_id
          from unknown
          left join instep.new_customers as known using (customer_id)
         cross join lateral (
                 select known.customer_id is null
                        or ${isWritten('unknown')}
               ) as row (is_new)
         where is_new
            or due_at < now()
         order by is_new desc, first_asked_at desc, customer_id
         limit $1
      )
      insert into instep.new_customers as known (customer_id, subscription_id, due_at)
      select customer_id, subscription_id, now() + interval '5 seconds'
        from due
          on conflict (customer_id) do update
         set subscription_id = coalesce(excluded.subscription_id, known.subscription_id),
             first_asked_at  = case when ${isWritten('excluded')} then now() else known.first_asked_at end,
             due_at          = case when ${isWritten('excluded')} then excluded.due_at else ${DUE_AGAIN} end
      returning customer_id as "customerId"`;

/**
 * Customers of teams for which Stripe should be asked now: no subscription of theirs is known, the application has
 * written one to the row that is not, a call got no answer, or the team has come since the first comparison of all
 * teams. First come those for which it was never asked (about that subscription), then the newest. Each is due again,
 * because a customer can be created long before the checkout is completed.
 */
async function takeNewCustomers(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'take_new_customers',
    text: TAKE_NEW_CUSTOMERS,
    values: [limit],
  });
  return rows.map(({ customerId }) => customerId);
}

const NOTE_ANSWERED = `
      update instep.new_customers
         set is_requested = false
       where customer_id = $1
         and is_requested`;

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

/** Notes that Stripe was just asked for the subscriptions of these customers. */
export async function noteAsked(query: Query, customerIds: readonly string[]): Promise<void> {
  await query({
    name: 'note_asked',
    text: `
      insert into instep.new_customers as known (customer_id, due_at)
      select distinct customer_id, now() + interval '5 seconds'
        from unnest($1::text[]) as customer (customer_id)
          on conflict (customer_id) do update
         set due_at = ${DUE_AGAIN}`,
    values: [customerIds],
  });
}
