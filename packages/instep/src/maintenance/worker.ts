import { DatabaseUnavailable } from '../postgres/errors.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause } from '../runtime/pause.ts';
import { retry, Stopped } from '../runtime/retry.ts';
import { inRootSpan } from '../runtime/tracing.ts';

/** Finds and repairs one kind of inconsistency. */
export type Job = {
  readonly name: string;
  /** How often `run` is called. A job with a lease then only checks whether it is due. */
  readonly intervalMs: number;
  /** Stops early, without an error, when the signal is aborted. All of its state is in the database. */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

/** Loads the jobs when the first of them runs, which may never happen. */
export type LoadJobs = () => Promise<readonly Job[]>;

export type MaintenanceWorker = {
  /** Starts no more runs, and waits for those in progress. It can be called again. */
  stop(): Promise<void>;
};

export type MaintenanceOptions = {
  readonly logger: Logger;
  readonly instrumentation?: Instrumentation;
};

type StartOptions = {
  /** How long to wait before the first run. */
  readonly startAfterMs?: number;
};

const LONGEST_PAUSE_MS = 60_000;

/**
 * Runs each job again and again, in a loop of its own. Jobs are driven by state and not by messages,
 * so a crash at any point costs nothing, and any number of instances can run them. A job that fails
 * is retried, with longer and longer pauses.
 */
export function startMaintenance(
  loadJobs: LoadJobs,
  options: MaintenanceOptions & StartOptions,
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
export function runOnce(
  { name, run }: Job,
  signal: AbortSignal,
  { logger, instrumentation = NO_INSTRUMENTATION }: MaintenanceOptions,
): Promise<void> {
  return inRootSpan(new Set(), `maintain ${name}`, {}, async () => {
    const startedAtMs = performance.now();
    let result: 'done' | 'failed' = 'done';
    try {
      await run(signal);
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
