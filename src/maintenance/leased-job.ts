import type { Query } from '../postgres/database.ts';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import type { Logger } from '../runtime/logging.ts';
import { Stopped } from '../runtime/retry.ts';
import { StripeApiFailed } from '../stripe/api-call.ts';
import { type LeasedRun, withLease } from './lease.ts';
import type { Job } from './worker.ts';

export type LeasedJobOptions = {
  readonly name: string;
  readonly query: Query;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
  /** How often, in all instances together. */
  readonly intervalMs: number;
  /** Whether it is due at the start, too, and when the database was away. */
  readonly isDueAfterOutage: boolean;
  readonly work: (walk: LeasedRun, signal: AbortSignal) => Promise<void>;
};

/** A keeper's task that goes through what Stripe lists every so often, in one instance at a time. */
export function createLeasedJob(options: LeasedJobOptions): Job['run'] {
  const { name, query, logger, now, intervalMs, isDueAfterOutage, work } = options;
  const holder = options.nonce();
  /** Until then something may have been missed. */
  let missedUntilMs = now();
  let restUntilMs = 0;

  return async (signal) => {
    if (now() < restUntilMs) return;
    const sinceMissedMs = isDueAfterOutage ? now() - missedUntilMs : intervalMs;
    const dueAfterMs = Math.min(intervalMs, sinceMissedMs);
    try {
      await withLease(query, { name, holder, dueAfterMs }, (walk) => work(walk, signal));
    } catch (error) {
      if (error instanceof Stopped) return;
      if (error instanceof DatabaseUnavailable) missedUntilMs = now();
      if (!(error instanceof StripeApiFailed && error.isForbidden)) throw error;
      if (restUntilMs === 0) {
        logger.warn({ task: name, err: error }, 'STRIPE_SECRET_KEY may not read what this needs');
      }
      restUntilMs = now() + intervalMs;
    }
  };
}
