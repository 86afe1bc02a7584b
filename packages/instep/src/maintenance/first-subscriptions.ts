import type { Query } from '../postgres/database.ts';
import { readTeamsOf } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';
import { READS_ALL_TEAMS, withLease } from './lease.ts';
import type { Finding } from './reconcile/drift.ts';
import { listCustomer } from './reconcile/listing.ts';
import type { ReconcileServices } from './reconcile/progress.ts';
import { reconcileTeams } from './reconcile/reconcile-teams.ts';
import { restWithoutPermission } from './resting.ts';
import type { Job } from './worker.ts';

export const FIRST_SUBSCRIPTIONS_JOB = 'first-subscriptions';

const BATCH = 50;

/** How long to rest when the key lacks permission. */
const REST_MS = 60 * 60 * 1_000;

/**
 * Asks Stripe for the subscriptions of customers who are linked to a team and have no known event:
 * `customer.subscription.created` is not one of the two types, and a trial has no other event for two weeks.
 */
export function createFirstSubscriptionsJob(services: ReconcileServices): Job['run'] {
  const { database, logger, nonce } = services;
  const { query } = database;
  const lease = { name: FIRST_SUBSCRIPTIONS_JOB, holder: nonce(), ...READS_ALL_TEAMS };
  const onFinding = (finding: Finding) => logger.info(finding, 'first subscription of a team');
  const options = { ...services, isDryRun: false, onFinding };

  async function ask(customerId: string, signal: AbortSignal): Promise<void> {
    const listed = await listCustomer(customerId, services, signal);
    // Only a complete reconciliation clears a plan that the application wrote.
    if (listed === null || listed.subscriptions.length === 0) return;
    const teams = await readTeamsOf(query, [customerId]);
    await reconcileTeams(teams, listed.subscriptions, options, signal);
  }

  async function run(signal: AbortSignal): Promise<void> {
    const take = () => takeNewCustomers(query, BATCH);
    // The lease covers the read only: calls to Stripe that take long must not delay the next one.
    const customerIds = (await withLease(query, lease, take)) ?? [];
    for (const customerId of customerIds) {
      if (signal.aborted) return;
      try {
        await ask(customerId, signal);
      } catch (err) {
        // Stripe refuses the id, for example an empty one. The other customers are still asked for.
        if (!isRefusedByStripe(err)) throw err;
        logger.warn({ customerId, err }, 'customer id refused by Stripe');
      }
    }
  }

  return restWithoutPermission(run, { job: FIRST_SUBSCRIPTIONS_JOB, logger, restMs: REST_MS });
}

/** 5 seconds after the first time, then after doubling delays for a day. */
const ASK_AGAIN = `
          on conflict (customer_id) do update
         set due_at = case
                        when now() - known.first_asked_at < interval '1 day'
                          then now() + (now() - known.first_asked_at)
                        else 'infinity'
                      end`;

const TAKE_NEW_CUSTOMERS = ({ teams }: ApplicationTables) => `
      with due as materialized (
        select provider_customer_id as customer_id
          from ${teams.rows} as teams
          left join instep.new_customers as known on known.customer_id = provider_customer_id
         where provider_customer_id is not null
           and (known.customer_id is null or known.due_at < now())
           and not exists (
                 select
                   from instep.subscriptions as state
                  where state.customer_id = provider_customer_id
               )
         group by provider_customer_id, known.first_asked_at
         order by known.first_asked_at desc nulls first
         limit $1
      )
      insert into instep.new_customers as known (customer_id, due_at)
      select customer_id, now() + interval '5 seconds'
        from due${ASK_AGAIN}
      returning customer_id as "customerId"`;

/**
 * Customers with a team but without a known subscription, for which Stripe should be asked now: first those
 * for which it was never asked, then the newest. Each is due again, because a customer can be created long
 * before the checkout is completed.
 */
async function takeNewCustomers(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'take_new_customers',
    text: TAKE_NEW_CUSTOMERS,
    values: [limit],
  });
  return rows.map(({ customerId }) => customerId);
}

/** Notes that Stripe has just listed no subscription of these customers. */
export async function noteAsked(query: Query, customerIds: readonly string[]): Promise<void> {
  await query({
    name: 'note_asked',
    text: `
      insert into instep.new_customers as known (customer_id, due_at)
      select distinct customer_id, now() + interval '5 seconds'
        from unnest($1::text[]) as customer (customer_id)${ASK_AGAIN}`,
    values: [customerIds],
  });
}
