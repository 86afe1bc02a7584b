import { readTeamsOf } from '../postgres/statements/teams.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';
import { READS_ALL_TEAMS, withLease } from './lease.ts';
import { takeNewCustomers } from './new-customers.ts';
import type { Finding } from './reconcile/finding.ts';
import { listCustomer } from './reconcile/listing.ts';
import type { ReconcileServices } from './reconcile/options.ts';
import { reconcileTeams } from './reconcile/reconcile-teams.ts';
import { restWithoutPermission } from './rest-without-permission.ts';
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
