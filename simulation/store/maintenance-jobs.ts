import type { PlanSelection } from 'instep-engine/rule';
import type { Ingest, Settle } from 'instep-engine/src/log/pipeline.ts';
import type { Database, Query } from 'instep-engine/src/postgres/database.ts';
import { findCustomers } from 'instep-engine/src/postgres/examine.ts';
import { createAskJobs } from 'instep-engine/src/repair/ask-jobs.ts';
import { pruneEvents } from 'instep-engine/src/repair/prune.ts';
import { createSettleJobs, PARKED_EVENTS } from 'instep-engine/src/repair/settle-jobs.ts';
import type { Job } from 'instep-engine/src/repair/worker.ts';
import type { Logger } from 'instep-engine/src/runtime/logging.ts';
import type { SimulatedApi } from './simulated-api.ts';
import { isTemporary } from './until-available.ts';

export type MaintenanceOptions = {
  readonly database: Database;
  readonly query: Query;
  readonly ingest: Ingest;
  readonly settle: Settle;
  readonly planSelection: PlanSelection;
  readonly api: Pick<SimulatedApi, 'retrieveSubscription' | 'retrieveProductName'>;
  readonly logger: Logger;
  readonly now: () => number;
  readonly nonce: () => string;
};

const INTERVAL_MS = 100;
const PRUNE_INTERVAL_MS = 50;

/** The real jobs, with the simulated API instead of Stripe's. */
export function maintenanceJobs(options: MaintenanceOptions): readonly Job[] {
  const { query, ingest, settle, planSelection, api, logger, now, nonce } = options;
  const due = { query, logger, holder: nonce(), dueAfterMs: 0, firstRestMs: 0 };
  const asks = createAskJobs({ ...due, ingest, api, now, nonce, compareNew: null });
  const jobs = [
    ...createSettleJobs({ ...due, settle, planSelection }),
    // Ends are not reached: every world has its own clock.
    ...asks.filter(({ name }) => name !== 'unconfirmed-ends'),
  ];
  return jobs.map((job) => ({ ...job, intervalMs: INTERVAL_MS }));
}

/**
 * Prunes every event that can be pruned at any moment, however new it is: some events per run, then the next
 * ones, and finally from the beginning again.
 */
export function createPruneJob({ query, now }: MaintenanceOptions): Job {
  let after: number | null = null;
  return {
    name: 'retention',
    intervalMs: PRUNE_INTERVAL_MS,
    async run() {
      after = (await pruneEvents(query, { after, cutoffMs: now() })).examinedTo;
    },
  };
}

/** The subscriptions of teams whose order is ambiguous. */
export const readAmbiguous = (query: Query) =>
  query<{ subscriptionId: string }>(`
    select ambiguous_subscription_id as "subscriptionId"
      from instep.customers
     where ambiguous_subscription_id is not null
       and exists (select from teams where provider_customer_id = customer_id)`);

const MAX_ROUNDS = 50;

/** Runs the jobs until no order is ambiguous and no event with a team is parked. A job that fails runs again. */
export async function runUntilSettled(jobs: readonly Job[], query: Query): Promise<void> {
  const { signal } = new AbortController();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    let isDone = true;
    await query('update instep.leased_jobs set attempt_at = null');
    for (const { run } of jobs) {
      try {
        await run(signal);
      } catch (error) {
        if (!isTemporary(error)) throw error;
        isDone = false;
      }
    }
    const ambiguous = await readAmbiguous(query);
    const first = { afterId: null, limit: 1, exceptIds: [] };
    const { found: parked } = await findCustomers(query, PARKED_EVENTS, first);
    if (isDone && ambiguous.length === 0 && parked.length === 0) return;
  }
}
