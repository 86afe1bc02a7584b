import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { inRootSpan, markFailed, type Span } from '../runtime/tracing.ts';

/** One thing that may be out of step, and how to repair it. */
export type Job = {
  readonly name: string;
  readonly intervalMs: number;
  /**
   * Looks for what is out of step, and repairs it, until the signal asks it to leave the rest. All
   * that it needs to know is in the database.
   */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

export type MaintenanceWorker = {
  /** Begins nothing more, and waits for what is under way. May be called again. */
  stop(): Promise<void>;
};

export type MaintenanceOptions = {
  readonly logger: Logger;
  readonly instrumentation?: Instrumentation;
  /** How long to wait before the first run. */
  readonly startAfterMs?: number;
};

const LONGEST_PAUSE_MS = 60_000;

/**
 * Runs each task again and again, in a loop of its own: driven by state and not by messages, so
 * that a crash at any point costs nothing, and any number of instances may do it. A task that
 * fails is tried again, later each time.
 */
export function startMaintenance(
  tasks: readonly Job[],
  { logger, instrumentation = NO_INSTRUMENTATION, startAfterMs = 0 }: MaintenanceOptions,
): MaintenanceWorker {
  const stopping = new AbortController();
  const { signal } = stopping;

  const pause = (delayMs: number) =>
    sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined);

  async function keep({ name, intervalMs, run }: Job): Promise<void> {
    let pauseMs = intervalMs;
    async function runOnce(span: Span): Promise<void> {
      const beganMs = performance.now();
      let result: 'done' | 'failed' = 'done';
      try {
        await run(signal);
        pauseMs = intervalMs;
      } catch (error) {
        result = 'failed';
        markFailed(span, error);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        const level = error instanceof DatabaseUnavailable ? 'debug' : 'warn';
        logger[level](
          { task: name, err: error, nextTryMs: pauseMs },
          'keeper failed, will try again',
        );
      } finally {
        instrumentation.jobEnded(name, result, performance.now() - beganMs);
      }
    }
    if (startAfterMs > 0) await pause(startAfterMs);
    while (!signal.aborted) {
      await inRootSpan(new Set(), `maintain ${name}`, {}, runOnce);
      await pause(pauseMs);
    }
  }

  const loops = Promise.all(tasks.map(keep));
  return {
    async stop() {
      stopping.abort();
      await loops;
    },
  };
}
