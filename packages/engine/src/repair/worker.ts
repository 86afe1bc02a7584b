// Runs the jobs of maintenance, again and again or on demand, and pauses those that fail. `instep.ts` opens it, and each
// consumer of changes of plans has a worker of its own.

import { DatabaseUnavailable } from '../postgres/errors.ts';
import { abortAfter } from '../runtime/deadline.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause, Stopped } from '../runtime/retry.ts';
import { inRootSpan } from '../runtime/tracing.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';
import type { FailedJobs } from './failed-jobs.ts';

/** Finds and repairs one kind of inconsistency. */
export type Job = {
  readonly name: string;
  /** How often `run` is called. A job with a lease then only checks whether it is due. */
  readonly intervalMs: number;
  /** Stops early, without an error, when the signal is aborted. All of its state is in the database. */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

/** Loads the jobs when the first of them runs, which may never happen. */
type LoadJobs = () => Promise<readonly Job[]>;

type MaintenanceWorker = {
  /** Starts no more runs, and waits for those in progress. It can be called again. */
  stop(): Promise<void>;
};

export type MaintenanceOptions = {
  readonly logger: Logger;
  readonly instrumentation?: Instrumentation;
  /** Is told how each run ended. */
  readonly failedJobs?: Pick<FailedJobs, 'failed' | 'succeeded'>;
  /** Jobs that come and go, on demand only. */
  readonly otherJobs?: () => readonly Job[];
};

const LONGEST_PAUSE_MS = 60_000;

const longerPause = (pauseMs: number) => Math.min(pauseMs * 2 || 1_000, LONGEST_PAUSE_MS);

/** The pause of a job whose key lacks a permission, which a retry does not change. */
export const FORBIDDEN_PAUSE_MS = 60 * 60 * 1_000;

/**
 * Runs each job again and again, in a loop of its own. Jobs are driven by state and not by messages,
 * so a crash at any point costs nothing, and any number of instances can run them. A job that fails
 * is retried, with longer and longer pauses.
 */
export function startMaintenance(
  loadJobs: LoadJobs,
  options: MaintenanceOptions & { startAfterMs?: number },
): MaintenanceWorker {
  const { startAfterMs = 0 } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  // A process that has nothing else to do can exit.
  const pausing = { signal, ref: false };

  async function repeat(job: Job): Promise<void> {
    let failedPauseMs = job.intervalMs;
    while (!signal.aborted) {
      failedPauseMs = longerPause(failedPauseMs);
      const pauseMs = await runOnce(job, failedPauseMs, signal, options);
      if (pauseMs === null) failedPauseMs = job.intervalMs;
      await pause(pauseMs ?? job.intervalMs, pausing);
    }
  }

  async function repeatAll(): Promise<void> {
    let jobs: readonly Job[] | undefined;
    for (let pauseMs = startAfterMs; jobs === undefined; pauseMs = longerPause(pauseMs)) {
      await pause(pauseMs, pausing);
      if (signal.aborted) return;
      try {
        jobs = await loadJobs();
      } catch (err) {
        options.logger.error({ err }, 'maintenance could not be loaded');
      }
    }
    await Promise.all(jobs.map(repeat));
  }

  const loops = repeatAll();
  return {
    async stop() {
      stopping.abort();
      await loops;
    },
  };
}

export const LACKS_PERMISSION =
  'STRIPE_SECRET_KEY lacks permission to read subscriptions, events, customers or products';

/**
 * Runs a job in a span of its own. A failure is logged. Returns how long to pause after it; `null` if the job did not
 * fail.
 */
async function runOnce(
  { name, run }: Job,
  failedPauseMs: number,
  signal: AbortSignal,
  { logger, instrumentation = NO_INSTRUMENTATION, failedJobs }: MaintenanceOptions,
): Promise<number | null> {
  const startedAtMs = performance.now();
  const isForbidden = (error: unknown) => error instanceof StripeApiFailed && error.isForbidden;
  const thrown = await inRootSpan(new Set(), `maintain ${name}`, {}, async () => {
    try {
      await run(signal);
    } catch (err) {
      const level = err instanceof DatabaseUnavailable ? 'debug' : 'warn';
      const message = isForbidden(err) ? LACKS_PERMISSION : 'maintenance job failed';
      if (!(err instanceof Stopped)) logger[level]({ job: name, err }, message);
      throw err;
    }
  }).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  // A job that was stopped has neither failed nor succeeded.
  const isFailed = thrown !== null && !(thrown.error instanceof Stopped);
  instrumentation.jobEnded(name, isFailed ? 'failed' : 'done', performance.now() - startedAtMs);
  if (thrown === null && !signal.aborted) await failedJobs?.succeeded(name);
  if (!isFailed) return null;
  const pauseMs = isForbidden(thrown.error) ? FORBIDDEN_PAUSE_MS : failedPauseMs;
  await failedJobs?.failed(name, thrown.error, pauseMs);
  return pauseMs;
}

export type Maintenance = MaintenanceWorker & {
  /** Runs the jobs that are due and that nothing else runs, until they are done or soon after `budgetMs`. */
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
  const dueAtMs = new WeakMap<Job, number>();
  let inFlight: Promise<void> | undefined;

  async function runAll(signal: AbortSignal): Promise<void> {
    jobs ??= await loadJobs();
    const dueSince = (job: Job) => dueAtMs.get(job) ?? 0;
    const all = [...jobs, ...(options.otherJobs?.() ?? [])];
    for (const job of all.sort((one, other) => dueSince(one) - dueSince(other))) {
      if (signal.aborted || performance.now() < dueSince(job)) return;
      const pauseMs = (await runOnce(job, 0, signal, options)) ?? job.intervalMs;
      // One that used up the budget is due again, but comes last, so that it keeps no other from running.
      dueAtMs.set(job, performance.now() + (signal.aborted ? 0 : pauseMs));
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

/**
 * `background`: maintenance runs for as long as the process lives. `on-demand`: it runs after a webhook if
 * the framework supports that, and in calls of `runMaintenance`. `off`: it never runs, because another
 * process does it.
 */
export type MaintenanceMode = 'background' | 'on-demand' | 'off';

/** Delays loading the jobs' modules, so that the first requests do not wait for them. */
const STARTS_AFTER_MS = 500;

/** Runs jobs on demand, or for as long as the process lives: then what is due runs anyway. */
export function openMaintenance(
  isOnDemand: boolean,
  loadJobs: LoadJobs,
  options: MaintenanceOptions,
): Maintenance {
  if (isOnDemand) return createOnDemandMaintenance(loadJobs, options);
  const worker = startMaintenance(loadJobs, { ...options, startAfterMs: STARTS_AFTER_MS });
  return { ...worker, runDue: async () => undefined };
}
