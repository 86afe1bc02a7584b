// The list of all jobs that find and repair what is out of sync. `engine.ts` loads it when the first of them runs.

import type { StripeApi } from '../stripe/api.ts';
import { createAskJobs } from './ask-jobs.ts';
import { createCatchUpJob } from './catch-up.ts';
import { createPruneJob } from './prune.ts';
import { compareCustomer, type ReconcileServices } from './reconcile/compare-customer.ts';
import type { ReconciliationIssue } from './reconcile/drift.ts';
import { createReconcileJob } from './reconcile/reconcile.ts';
import { createSettleJobs } from './settle-jobs.ts';
import { limitRate } from './stripe-calls.ts';
import type { Job } from './worker.ts';

/** Null: never. */
type Settings = {
  readonly catchUpIntervalMs: number | null;
  readonly reconcileIntervalMs: number | null;
  readonly eventRetentionMs: number | null;
};

type Services = ReconcileServices & {
  readonly api: StripeApi;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs?: () => number;
};

/** The jobs that find and repair everything that can be out of sync. */
export function createJobs(
  services: Services,
  { catchUpIntervalMs, reconcileIntervalMs, eventRetentionMs }: Settings,
): Job[] {
  const { database, ingest, settle, planSelection, logger, now, nonce } = services;
  const { query } = database;
  const holder = nonce();
  const api = limitRate(services.api);
  const onIssue = ({ kind, ...issue }: ReconciliationIssue) => logger.info(issue, kind);
  const comparing = { ...services, api, isDryRun: false, onIssue };
  const compareNew =
    reconcileIntervalMs === null
      ? null
      : (id: string, signal: AbortSignal) =>
          compareCustomer(id, { ...comparing, isNew: true }, signal);
  const repairing = { query, logger, holder, clockMs: services.clockMs };
  const jobs: Job[] = [
    ...createSettleJobs({ ...repairing, settle, planSelection }),
    ...createAskJobs({ ...repairing, ingest, api, now, nonce, compareNew }),
  ];
  if (eventRetentionMs !== null) {
    const run = createPruneJob({ query, logger, now, holder }, eventRetentionMs);
    jobs.push({ name: 'retention', intervalMs: 60_000, run });
  }
  if (reconcileIntervalMs !== null) {
    const run = createReconcileJob({ ...services, api }, reconcileIntervalMs);
    jobs.push({ name: 'reconcile', intervalMs: 5_000, run });
  }
  if (catchUpIntervalMs !== null) {
    const catchUp = {
      ...{ query, ingest, listEvents: api.listEvents, logger, now, nonce },
      compareCustomer: (id: string, signal: AbortSignal) => compareCustomer(id, comparing, signal),
    };
    const run = createCatchUpJob(catchUp, catchUpIntervalMs);
    jobs.push({ name: 'catch-up', intervalMs: 5_000, run });
  }
  return jobs;
}
