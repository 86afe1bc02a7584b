import { InstepError } from '../../runtime/errors.ts';
import { withLease } from '../lease.ts';
import { restWithoutPermission } from '../rest-without-permission.ts';
import type { Job } from '../worker.ts';
import { explainFailure } from './failure.ts';
import type { Finding } from './finding.ts';
import type { ReconcileOptions, ReconcileServices } from './options.ts';
import type { Counts, Resume } from './progress.ts';
import { reconcileAll } from './reconcile-all.ts';

/** Only one reconciliation runs at a time, in all instances together. */
class ReconciliationRunning extends InstepError {
  readonly code = 'RECONCILIATION_RUNNING';

  constructor() {
    super(
      'another reconciliation is running: try again when it has finished, or 2 minutes after its ' +
        'process was killed',
    );
  }
}

const JOB = 'reconcile';

/**
 * Reconciles all teams now.
 *
 * @throws ReconciliationRunning, NothingToResume or ReconciliationFailed
 */
export async function reconcile(
  options: ReconcileOptions & { readonly resume: Resume },
  signal: AbortSignal,
): Promise<Counts> {
  const { database, nonce } = options;
  const lease = { name: JOB, holder: nonce(), dueAfterMs: 0 };
  const counts = await explainFailure(
    withLease(database.query, lease, (run) => reconcileAll(run, options, signal)),
  );
  if (counts === null) throw new ReconciliationRunning();
  return counts;
}

/** Reconciles all teams at an interval, and logs what was found and repaired. */
export function createReconcileJob(services: ReconcileServices, intervalMs: number): Job['run'] {
  const { database, logger, nonce } = services;
  const onFinding = ({ kind, ...finding }: Finding) =>
    logger[kind === 'unrecorded' ? 'info' : 'warn'](finding, kind);
  const options = { ...services, isDryRun: false, resume: 'if possible', onFinding } as const;
  const lease = { name: JOB, holder: nonce(), dueAfterMs: intervalMs };

  async function run(signal: AbortSignal): Promise<void> {
    const counts = await withLease(database.query, lease, (run) =>
      reconcileAll(run, options, signal),
    );
    if (counts !== null) logger.info(counts, 'reconciled');
  }

  return restWithoutPermission(run, { job: JOB, logger, restMs: intervalMs });
}
