import { DatabaseUnavailable, isOfOneEvent } from '../postgres/errors.ts';
import { abortAfter } from '../runtime/deadline.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause, retry, Stopped } from '../runtime/retry.ts';
import { inRootSpan } from '../runtime/tracing.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';
import type { FailedJobs } from './failed-jobs.ts';

/** Finds and repairs one kind of inconsistency. */
export type Job = {
  readonly name: string;
  /** How often `run` is called. A job with a lease then only checks whether it is due. */
  readonly intervalMs: number;
  /** Stops early, without an error, when the signal is aborted. All of its state is in the database. */
  readonly run: (signal: AbortSignal) => Promise<void> | Promise<Paused | undefined>;
};

/** The job has failed for a reason that a retry does not change. It does nothing until the time is over. */
export type Paused = { readonly error: unknown; readonly pauseMs: number };

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
    const { intervalMs } = job;
    const policy = {
      ...pausing,
      isRetryable: () => true,
      firstPauseMs: intervalMs * 2,
      longestPauseMs: LONGEST_PAUSE_MS,
      onRetry: (error: unknown, pauseMs: number) =>
        void options.failedJobs?.failed(job.name, error, pauseMs),
    };
    while (!signal.aborted) {
      await retry(() => runOnce(job, signal, options), policy);
      await pause(intervalMs, pausing);
    }
  }

  async function repeatAll(): Promise<void> {
    await pause(startAfterMs, pausing);
    if (signal.aborted) return;
    const repeated = (await loadJobs()).map((job) =>
      repeat(job).catch((error: unknown) => {
        if (!(error instanceof Stopped)) throw error;
      }),
    );
    await Promise.all(repeated);
  }

  const loops = repeatAll();
  return {
    async stop() {
      stopping.abort();
      await loops;
    },
  };
}

/** Runs a job in a span of its own. A failure is logged. @throws the error of the job */
function runOnce(
  { name, run }: Job,
  signal: AbortSignal,
  { logger, instrumentation = NO_INSTRUMENTATION, failedJobs }: MaintenanceOptions,
): Promise<void> {
  return inRootSpan(new Set(), `maintain ${name}`, {}, async () => {
    const startedAtMs = performance.now();
    let result: 'done' | 'failed' = 'done';
    try {
      const paused = await run(signal);
      if (paused) await failedJobs?.failed(name, paused.error, paused.pauseMs);
      // A job that was stopped has neither failed nor succeeded.
      else if (!signal.aborted) await failedJobs?.succeeded(name);
    } catch (err) {
      result = 'failed';
      if (!(err instanceof Stopped)) {
        const level = err instanceof DatabaseUnavailable ? 'debug' : 'warn';
        logger[level]({ job: name, err }, 'maintenance job failed');
      }
      throw err;
    } finally {
      instrumentation.jobEnded(name, result, performance.now() - startedAtMs);
    }
  });
}

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
  const startedAtMs = new WeakMap<Job, number>();
  const ranAtMs = new WeakMap<Job, number>();
  let inFlight: Promise<void> | undefined;

  async function runAll(signal: AbortSignal): Promise<void> {
    jobs ??= await loadJobs();
    // A job that used up the budget comes last, so that it keeps no other from running.
    const lastStartMs = (job: Job) => startedAtMs.get(job) ?? 0;
    const all = [...jobs, ...(options.otherJobs?.() ?? [])];
    for (const job of all.sort((one, other) => lastStartMs(one) - lastStartMs(other))) {
      const lastMs = ranAtMs.get(job) ?? Number.NEGATIVE_INFINITY;
      if (signal.aborted) return;
      if (performance.now() - lastMs < job.intervalMs) continue;
      startedAtMs.set(job, performance.now());
      const isDone = await runOnce(job, signal, options).then(
        () => !signal.aborted,
        async (error: unknown) => {
          await options.failedJobs?.failed(job.name, error, job.intervalMs);
          return false;
        },
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

/**
 * `background`: maintenance runs for as long as the process lives. `on-demand`: it runs after a webhook if
 * the framework supports that, and in calls of `runMaintenance`. `off`: it never runs, because another
 * process does it.
 */
export type MaintenanceMode = 'background' | 'on-demand' | 'off';

/** Delays loading the jobs' modules, so that the first requests do not wait for them. */
const STARTS_AFTER_MS = 500;

export function openMaintenance(
  mode: MaintenanceMode,
  loadJobs: LoadJobs,
  options: MaintenanceOptions,
): Maintenance {
  const onDemand = createOnDemandMaintenance(mode === 'off' ? async () => [] : loadJobs, options);
  if (mode !== 'background') return onDemand;
  const worker = startMaintenance(loadJobs, { ...options, startAfterMs: STARTS_AFTER_MS });
  return {
    runDue: onDemand.runDue,
    async stop() {
      await Promise.all([worker.stop(), onDemand.stop()]);
    },
  };
}

type PauseOptions = {
  job: string;
  logger: Logger;
  pauseMs: number;
  clockMs?: () => number;
};

/**
 * Warns when the key lacks permission for a job, and pauses the job. A job that was stopped has not
 * failed.
 */
export function pauseWithoutPermission(
  run: Job['run'],
  { job, logger, pauseMs, clockMs = () => performance.now() }: PauseOptions,
): Job['run'] {
  let paused: { readonly error: unknown; readonly untilMs: number } | null = null;
  return async (signal) => {
    if (paused !== null && clockMs() < paused.untilMs) {
      return { error: paused.error, pauseMs: paused.untilMs - clockMs() };
    }
    try {
      paused = null;
      await run(signal);
      return undefined;
    } catch (err) {
      if (err instanceof Stopped) return undefined;
      if (!(err instanceof StripeApiFailed && err.isForbidden)) throw err;
      logger.warn(
        { job, err },
        'STRIPE_SECRET_KEY lacks permission to read subscriptions, events or customers',
      );
      paused = { error: err, untilMs: clockMs() + pauseMs };
      return { error: err, pauseMs };
    }
  };
}

const AGAIN_AFTER_MS = 10_000;

type RetryLaterOptions = {
  readonly logger: Logger;
  readonly message: string;
  readonly afterMs?: number | undefined;
};

/** The customers or teams for whom a job failed. It leaves them alone for a while, so that they delay no others. */
export class RetryLater {
  #options: RetryLaterOptions;
  #untilMs = new Map<string, number>();

  constructor(options: RetryLaterOptions) {
    this.#options = options;
  }

  add(id: string): void {
    this.#untilMs.set(id, performance.now() + (this.#options.afterMs ?? AGAIN_AFTER_MS));
  }

  /** The result of the work for one of them; `null` if it failed, and can succeed later. */
  async attempt<Result>(
    subject: { customerId: string } | { teamId: string },
    work: () => Promise<Result>,
  ): Promise<Result | null> {
    try {
      return await work();
    } catch (err) {
      if (!isOfOneEvent(err)) throw err;
      const { logger, message } = this.#options;
      logger.warn({ ...subject, err }, message);
      this.add('teamId' in subject ? subject.teamId : subject.customerId);
      return null;
    }
  }

  /** Those that wait now. */
  ids(): string[] {
    for (const [id, untilMs] of this.#untilMs) {
      if (performance.now() >= untilMs) this.#untilMs.delete(id);
    }
    return [...this.#untilMs.keys()];
  }
}
