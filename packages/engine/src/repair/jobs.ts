// The list of all jobs that find and repair what is out of sync. `instep.ts` loads it when the first of them runs.

import type { StripeApi } from '../stripe/api.ts';
import { askForOrder } from './ambiguous-order.ts';
import {
  ASK_STRIPE_JOB,
  askForEnd,
  askForName,
  askForSubscriptions,
  createAskJob,
} from './ask-stripe.ts';
import { createCatchUpJob } from './catch-up.ts';
import type { FailedJobs } from './failed-jobs.ts';
import { READS_ALL_TEAMS, withLease } from './lease.ts';
import { createPruneJob, pruneCustomers, pruneLog } from './prune.ts';
import { raiseNewCustomers } from './questions.ts';
import type { ReconcileServices } from './reconcile/progress.ts';
import { createComparison, createReconcileJob, hasCompared } from './reconcile/reconcile.ts';
import { createSettleJobs } from './settle-jobs.ts';
import { limitRate } from './stripe-calls.ts';
import type { Job } from './worker.ts';

/** Null: never. */
type Settings = {
  readonly catchUpIntervalMs: number | null;
  readonly reconcileIntervalMs: number | null;
  readonly eventRetentionMs: number | null;
};

/** The jobs that find and repair everything that can be out of sync. */
export function createJobs(
  services: ReconcileServices & { readonly api: StripeApi; readonly failedJobs: FailedJobs },
  { catchUpIntervalMs, reconcileIntervalMs, eventRetentionMs }: Settings,
): Job[] {
  const {
    database,
    ingest,
    settle,
    planSelection,
    keepsPaused = false,
    logger,
    now,
    nonce,
  } = services;
  const { query } = database;
  const holder = nonce();
  const api = limitRate(services.api);
  const { retrieveSubscription, retrieveProductName, listEvents } = api;
  const reconcile = { ...services, api };
  const comparesTeams = reconcileIntervalMs !== null;
  const ordering = { query, ingest, retrieveSubscription, now, nonce };
  const asking = { ...READS_ALL_TEAMS, name: ASK_STRIPE_JOB, holder };
  const findNewCustomers = () => withLease(query, asking, (run) => raiseNewCustomers(run, query));
  const jobs: Job[] = [
    ...createSettleJobs({ database, settle, logger, planSelection, keepsPaused, holder }),
    {
      name: ASK_STRIPE_JOB,
      intervalMs: 1_000,
      run: createAskJob({
        query,
        logger,
        failedJobs: services.failedJobs,
        asks: {
          'ambiguous-order': (id, signal) => askForOrder(id, ordering, signal),
          'unconfirmed-ends': askForEnd(ordering, retrieveSubscription),
          'product-names': askForName(query, retrieveProductName),
          ...(comparesTeams && { 'first-subscriptions': askForSubscriptions(reconcile) }),
        },
        ...(comparesTeams && { findNewCustomers }),
      }),
    },
    ...createPruneJob(
      { query, now, holder },
      'retention',
      eventRetentionMs,
      async (cutoffMs, signal) => {
        const count = await pruneLog({ query, cutoffMs }, signal);
        if (count > 0) logger.info({ count }, 'event log pruned');
        const customers = await pruneCustomers({ query, cutoffMs }, signal);
        if (customers > 0) logger.info({ count: customers }, 'customers without a team pruned');
      },
    ),
  ];
  if (reconcileIntervalMs !== null) {
    const run = createReconcileJob(reconcile, reconcileIntervalMs);
    jobs.push({ name: 'reconcile', intervalMs: 5_000, run });
  }
  if (catchUpIntervalMs !== null) {
    const catchUp = {
      ...{ query, ingest, listEvents, logger, now, nonce },
      compareCustomer: createComparison(reconcile),
      isFirstComparisonOver: async () => reconcileIntervalMs === null || (await hasCompared(query)),
    };
    const run = createCatchUpJob(catchUp, catchUpIntervalMs);
    jobs.push({ name: 'catch-up', intervalMs: 5_000, run });
  }
  return jobs;
}
