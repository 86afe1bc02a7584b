import type { Query } from '../postgres/database.ts';
import { type Examined, examineTeams } from '../postgres/examine.ts';
import { type PageAfter, readTeamsOf } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';
import { type LeasedRun, READS_ALL_TEAMS, withLease } from './lease.ts';
import type { ReconciliationIssue } from './reconcile/drift.ts';
import { listCustomer } from './reconcile/listed-subscriptions.ts';
import type { ReconcileServices } from './reconcile/progress.ts';
import { reconcileTeams } from './reconcile/reconcile-teams.ts';
import { sweepTeams } from './sweep.ts';
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

  /** New customers come before all repetitions. */
  async function take(run: LeasedRun): Promise<string[]> {
    const page = { limit: BATCH };
    const added = await sweepTeams(
      run,
      (afterId) => takeNewCustomers(query, { afterId, ...page }),
      page,
    );
    return [...added, ...(await takeAgain(query, Math.max(0, BATCH - added.length)))];
  }

  async function run(signal: AbortSignal): Promise<void> {
    // The lease covers the reads only: calls to Stripe that take long must not delay the next ones.
    const taken = await withLease(query, lease, take);
    const customerIds = [...new Set(taken)];
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

/** SQL for whether no subscription is known of the customer of a row of `teams`, or not the one of the row. */
const IS_UNKNOWN = `not exists (
                   select
                     from instep.subscriptions as state
                    where state.customer_id = provider_customer_id
                      and state.status is not null
                      and state.subscription_id = coalesce(provider_subscription_id, state.subscription_id)
                 )`;

const TAKE_NEW_CUSTOMERS = ({ teams }: ApplicationTables) => `
      unasked as (
        select distinct provider_customer_id as customer_id
          from examined
          left join lateral (
                 select *
                   from instep.new_customers
                  where customer_id = provider_customer_id
                 offset 0
               ) as known on true
         where provider_customer_id is not null
           and (
                 known.customer_id is null and exists (
                   select
                     from instep.leased_jobs
                    where name = 'reconcile'
                      and progress -> 'completed' is not null
                 )
                 or (known.customer_id is null
                     or provider_subscription_id <> coalesce(known.subscription_id, ''))
                    and ${IS_UNKNOWN}
               )
      ), due as (
        select unasked.customer_id, written.subscription_id
          from unasked
         cross join lateral (
                 select max(provider_subscription_id) as subscription_id
                   from ${teams.rows} as teams
                  where provider_customer_id = unasked.customer_id
               ) as written
          left join instep.new_customers as known using (customer_id)
         where known.customer_id is null
            or ${isWritten('written')}
         order by unasked.customer_id
         limit $2
      ), found as (
        insert into instep.new_customers as known (customer_id, subscription_id, due_at)
        select customer_id, subscription_id, now() + interval '5 seconds'
          from due
            on conflict (customer_id) do update
           set subscription_id = coalesce(excluded.subscription_id, known.subscription_id),
               first_asked_at  = now(),
               due_at          = excluded.due_at
        returning customer_id as "customerId"
      )`;

/**
 * Customers of the next teams for which Stripe was never asked (about the subscription that the application has written
 * to the row), and of whom no subscription is known, or whose team has come since the first comparison of all teams.
 */
async function takeNewCustomers(
  query: Query,
  { afterId, limit }: PageAfter,
): Promise<Examined<string>> {
  const { found, examinedTo } = await examineTeams<{ customerId: string }>(query, {
    name: 'take_new_customers',
    found: TAKE_NEW_CUSTOMERS,
    values: [limit],
    afterId,
  });
  return { found: found.map(({ customerId }) => customerId), examinedTo };
}

/** How many customers one statement examines whom to ask for again is due. */
const EXAMINED = 1_000;

const TAKE_AGAIN = ({ teams }: ApplicationTables) => `
      with examined as materialized (
        select customer_id, first_asked_at, due_at, is_requested
          from instep.new_customers
         where due_at < now()
           and due_at < 'infinity'
         order by due_at desc
         limit ${EXAMINED}
      ), judged as materialized (
        select examined.*,
               linked.is_unknown is not null as is_linked,
               is_requested or linked.is_unknown as is_open
          from examined
         cross join lateral (
                 select bool_or(${IS_UNKNOWN}) as is_unknown
                   from ${teams.rows} as teams
                  where provider_customer_id = examined.customer_id
               ) as linked
      ), taken as (
        select customer_id, due_at
          from judged
         where is_linked
           and is_open
         order by first_asked_at desc
         limit $1
      ), settled as (
        update instep.new_customers as known
           set due_at = 'infinity'
          from judged
         where known.customer_id = judged.customer_id
           -- It was not requested meanwhile.
           and known.due_at = judged.due_at
           and is_linked
           and not is_open
      ), unlinked as (
        -- It is asked for again if a team gets it.
        delete from instep.new_customers as known
         using judged
         where known.customer_id = judged.customer_id
           and known.due_at = judged.due_at
           and not is_linked
           and not judged.is_requested
      )
      update instep.new_customers as known
         set due_at = ${DUE_AGAIN}
        from taken
       where known.customer_id = taken.customer_id
         and known.due_at = taken.due_at
      returning known.customer_id as "customerId"`;

/**
 * Customers for whom Stripe was asked and should be asked again now, the newest first: still no subscription of theirs
 * is known, or a call got no answer. Each is due again, because a customer can be created long before the checkout is
 * completed.
 */
async function takeAgain(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'take_customers_again',
    text: TAKE_AGAIN,
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
         set due_at = ${DUE_AGAIN}`,
    values: [customerIds],
  });
}
