// Runs the jobs of maintenance, again and again or on demand. `engine.ts` opens it, and each consumer of changes of plans has
// a worker of its own.

import { DatabaseUnavailable } from '../postgres/errors.ts';
import { abortAfter } from '../runtime/deadline.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause, Stopped } from '../runtime/retry.ts';
import { inRootSpan } from '../runtime/tracing.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';

/** Finds and repairs one kind of inconsistency. */
export type Job = {
  readonly name: string;
  /** How often `run` is called. A job with a lease then only checks whether it is due. */
  readonly intervalMs: number;
  /** Stops early when the signal is aborted. All of its state is in the database. */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

/** Loads the jobs when the first of them runs, which may never happen. */
type LoadJobs = () => Promise<readonly Job[]>;

type MaintenanceWorker = {
  /** Starts no more runs, and waits for those in progress. It can be called again. */
  stop(): Promise<void>;
};

type MaintenanceOptions = {
  readonly logger: Logger;
  readonly instrumentation?: Instrumentation;
  /** Jobs that come and go, on demand only. */
  readonly otherJobs?: () => readonly Job[];
};

/** The pause before jobs that could not be loaded are loaded again. */
const LOAD_PAUSE_MS = 5_000;

const LONGEST_PAUSE_MS = 60_000;

/**
 * Runs each job again and again, in a loop of its own. Jobs are driven by state and not by messages,
 * so a crash at any point costs nothing, and any number of instances can run them.
 */
export function startMaintenance(
  loadJobs: LoadJobs,
  options: MaintenanceOptions & { startAfterMs?: number },
): MaintenanceWorker {
  const stopping = new AbortController();
  const { signal } = stopping;
  // A process that has nothing else to do can exit.
  const pausing = { signal, ref: false };

  async function repeat(job: Job): Promise<void> {
    let pauseMs = job.intervalMs;
    while (!signal.aborted) {
      const hasFailed = await runOnce(job, signal, options);
      // The lease pauses a job that fails. If not even that can be stored, the failures in a row do.
      const longerMs = Math.max(job.intervalMs, Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
      pauseMs = hasFailed ? longerMs : job.intervalMs;
      await pause(pauseMs, pausing);
    }
  }

  async function repeatAll(): Promise<void> {
    let jobs: readonly Job[] | undefined;
    for (let pauseMs = options.startAfterMs ?? 0; jobs === undefined; pauseMs = LOAD_PAUSE_MS) {
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

const LACKS_PERMISSION =
  'STRIPE_SECRET_KEY lacks permission to read subscriptions, events, customers or products';

/**
 * Runs a job in a span of its own. A failure is logged; the lease of the job says when it is tried again. Returns whether the
 * job has failed, and not only because there is no database.
 */
async function runOnce(
  { name, run }: Job,
  signal: AbortSignal,
  { logger, instrumentation = NO_INSTRUMENTATION }: MaintenanceOptions,
): Promise<boolean> {
  const startedAtMs = performance.now();
  const thrown = await inRootSpan(new Set(), `maintain ${name}`, {}, async () => {
    try {
      await run(signal);
    } catch (err) {
      const level = err instanceof DatabaseUnavailable ? 'debug' : 'warn';
      const isForbidden = err instanceof StripeApiFailed && err.isForbidden;
      const message = isForbidden ? LACKS_PERMISSION : 'maintenance job failed';
      if (!(err instanceof Stopped)) logger[level]({ job: name, err }, message);
      throw err;
    }
  }).then(
    () => null,
    // A job that was stopped has neither failed nor succeeded.
    (error: unknown) => (error instanceof Stopped ? null : error),
  );
  const result = thrown === null ? 'done' : 'failed';
  instrumentation.jobEnded(name, result, performance.now() - startedAtMs);
  return thrown !== null && !(thrown instanceof DatabaseUnavailable);
}

export type Maintenance = MaintenanceWorker & {
  /** Runs the jobs that are due and that nothing else runs, until they are done or soon after `budgetMs`. */
  runDue(budgetMs: number): Promise<void>;
};

/**
 * Maintenance for a process that does not live long enough for `startMaintenance`: it runs after a webhook,
 * or on a schedule. One job runs after the other, because such a process has few connections, and calls at
 * the same time share one run. A job that fails does not stop the others.
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
      await runOnce(job, signal, options);
      // One that used up the budget is due again, but comes last, so that it keeps no other from running.
      dueAtMs.set(job, performance.now() + (signal.aborted ? 0 : job.intervalMs));
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
