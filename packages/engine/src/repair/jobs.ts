// The list of all jobs that find and repair what is out of sync. `instep.ts` loads it when the first of them runs.

import { readEmptyTeams } from '../postgres/statements/teams.ts';
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
import { type LeasedRun, READS_ALL_TEAMS, withLease } from './lease.ts';
import {
  createSettleJob,
  readCustomersOfOtherRules,
  readCustomersOfParkedEvents,
} from './parked-events.ts';
import { nameTeams, readNamelessCustomers } from './plan-names.ts';
import { pruneCustomers, pruneLog } from './prune.ts';
import { createPruneJob } from './prune-job.ts';
import { raiseNewCustomers } from './questions.ts';
import type { ReconcileServices } from './reconcile/progress.ts';
import { createComparison, createReconcileJob, hasCompared } from './reconcile/reconcile.ts';
import { limitRate } from './stripe-calls.ts';
import type { Job } from './worker.ts';

/** Null: never. */
type Settings = {
  readonly catchUpIntervalMs: number | null;
  readonly reconcileIntervalMs: number | null;
  readonly eventRetentionMs: number | null;
};

/** As in a lease. */
type Due = { dueAfterMs: number; leaseMs?: number };

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
  /** Lets one instance at a time read what is due, by the lease of this name. */
  const inTurn =
    (name: string, due: Due) =>
    <Result>(work: (run: LeasedRun) => Promise<Result>) =>
      withLease(query, { name, holder, ...due }, work);
  const reconcile = { ...services, api };
  const comparesTeams = reconcileIntervalMs !== null;
  const ordering = { query, ingest, retrieveSubscription, now, nonce };
  const findNewCustomers = () =>
    inTurn(ASK_STRIPE_JOB, READS_ALL_TEAMS)((run) => raiseNewCustomers(run, query));
  const jobs: Job[] = [
    {
      name: 'parked-events',
      intervalMs: 1_000,
      run: createSettleJob({
        ...{ settle, logger },
        find: (page) => readCustomersOfParkedEvents(query, page),
        inTurn: inTurn('parked-events', { ...READS_ALL_TEAMS, dueAfterMs: 2_000 }),
      }),
    },
    {
      name: 'empty-teams',
      intervalMs: 1_000,
      run: createSettleJob({
        ...{ settle, logger },
        find: (page) => readEmptyTeams(query, page),
        inTurn: inTurn('empty-teams', READS_ALL_TEAMS),
      }),
    },
    {
      name: 'access-rules',
      intervalMs: 5_000,
      run: createSettleJob({
        ...{ settle, logger },
        find: (page) => readCustomersOfOtherRules(query, { planSelection, keepsPaused }, page),
        inTurn: inTurn('access-rules', { dueAfterMs: 2_000 }),
      }),
    },
    {
      name: 'plan-names',
      intervalMs: 5_000,
      run: createSettleJob({
        ...{ settle: (customerId) => nameTeams(database, customerId, planSelection), logger },
        find: (page) => readNamelessCustomers(query, page),
        inTurn: inTurn('plan-names', { dueAfterMs: 2_000 }),
      }),
    },
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
