import { createLeasedJob } from './leased-job.ts';
import type { Finding } from './reconcile/finding.ts';
import type { ReconcileOptions } from './reconcile/options.ts';
import { reconcileAll } from './reconcile/reconcile-all.ts';
import type { Job } from './worker.ts';

export type ReconcileJobOptions = Omit<ReconcileOptions, 'isDryRun' | 'onFinding'> & {
  readonly intervalMs: number;
};

/** Reconciles all teams with Stripe every so often, and says what it found and repaired. */
export function createReconcileJob(options: ReconcileJobOptions): Job['run'] {
  const { database, logger } = options;
  const onFinding = ({ kind, ...finding }: Finding) => logger.warn(finding, kind);
  const reconciling = { ...options, isDryRun: false, mayResume: true, onFinding };
  return createLeasedJob({
    ...options,
    name: 'reconcile',
    query: database.query,
    isDueAfterOutage: false,
    work: async (walk, signal) => {
      logger.info(await reconcileAll(walk, reconciling, signal), 'reconciled');
    },
  });
}
