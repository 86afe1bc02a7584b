import { abortAfter } from '../runtime/deadline.ts';
import { Stopped } from '../runtime/retry.ts';
import {
  type Job,
  type LoadJobs,
  type MaintenanceOptions,
  type MaintenanceWorker,
  runOnce,
} from './worker.ts';

export type Maintenance = MaintenanceWorker & {
  /** Runs the jobs that are due, and resolves when they are done or soon after `budgetMs`. */
  runDue(budgetMs: number): Promise<void>;
};

/**
 * Maintenance for a process that does not live long enough for `startMaintenance`: it runs after a webhook,
 * or on a schedule. One job runs after the other, because such a process has few connections, and calls at
 * the same time share one run. A job that fails does not stop the others, and is due again.
 */
export function createOnDemandMaintenance(
  loadJobs: LoadJobs,
  options: MaintenanceOptions,
): Maintenance {
  const stopping = new AbortController();
  let jobs: readonly Job[] | undefined;
  const startedAtMs = new Map<Job, number>();
  const ranAtMs = new Map<Job, number>();
  let inFlight: Promise<void> | undefined;

  async function runAll(signal: AbortSignal): Promise<void> {
    jobs ??= await loadJobs();
    // A job that used up the budget comes last, so that it keeps no other from running.
    const lastStartMs = (job: Job) => startedAtMs.get(job) ?? 0;
    for (const job of jobs.toSorted((one, other) => lastStartMs(one) - lastStartMs(other))) {
      const lastMs = ranAtMs.get(job) ?? Number.NEGATIVE_INFINITY;
      if (signal.aborted) return;
      if (performance.now() - lastMs < job.intervalMs) continue;
      startedAtMs.set(job, performance.now());
      const isDone = await runOnce(job, signal, options).then(
        () => !signal.aborted,
        () => false,
      );
      if (isDone) ranAtMs.set(job, performance.now());
    }
  }

  async function runWithin(budgetMs: number): Promise<void> {
    try {
      await abortAfter(budgetMs, stopping.signal, runAll);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    } finally {
      inFlight = undefined;
    }
  }

  return {
    runDue(budgetMs) {
      inFlight ??= runWithin(budgetMs);
      return inFlight;
    },
    async stop() {
      stopping.abort();
      await inFlight;
    },
  };
}
