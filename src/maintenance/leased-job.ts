import { DatabaseUnavailable } from '../postgres/errors.ts';
import type { Logger } from '../runtime/logging.ts';
import { Stopped } from '../runtime/retry.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';
import type { Job } from './worker.ts';

type LeasedJobOptions = {
  readonly name: string;
  readonly logger: Logger;
  /** How often the job runs, in all instances together. */
  readonly intervalMs: number;
  /** Whether it is also due at the start, and after an outage of the database. */
  readonly isDueAfterOutage: boolean;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs?: () => number;
  /** Runs the job if its last run started longer ago than `dueAfterMs`. */
  readonly run: (dueAfterMs: number, signal: AbortSignal) => Promise<unknown>;
};

/**
 * Runs a job that reads Stripe's lists from time to time, in one instance at a time. If the key lacks
 * permission, it warns, and rests for the interval.
 */
export function createLeasedJob(options: LeasedJobOptions): Job['run'] {
  const { name, logger, intervalMs, isDueAfterOutage, run } = options;
  const { clockMs = () => performance.now() } = options;
  /** The start of this process, or the end of the last outage of the database. */
  let outageEndMs = clockMs();
  let forbiddenUntilMs = Number.NEGATIVE_INFINITY;

  return async (signal) => {
    if (clockMs() < forbiddenUntilMs) return;
    const sinceOutageMs = isDueAfterOutage ? clockMs() - outageEndMs : intervalMs;
    try {
      await run(Math.min(intervalMs, sinceOutageMs), signal);
    } catch (err) {
      if (err instanceof Stopped) return;
      if (err instanceof DatabaseUnavailable) outageEndMs = clockMs();
      if (!(err instanceof StripeApiFailed && err.isForbidden)) throw err;
      logger.warn(
        { job: name, err },
        'STRIPE_SECRET_KEY lacks permission to read subscriptions, events or customers',
      );
      forbiddenUntilMs = clockMs() + intervalMs;
    }
  };
}
