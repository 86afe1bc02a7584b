import { DatabaseUnavailable } from '../database/errors.ts';
import { StripeApiFailed } from '../stripe/api-call.ts';
import { type CatchUpOptions, catchUp } from './catch-up.ts';
import type { KeeperTask } from './keeper.ts';
import { Stopped } from './patience.ts';
import { takeTurn } from './walk.ts';

export type KeepCaughtUpOptions = CatchUpOptions & {
  /** How often, in all instances together. */
  readonly intervalMs: number;
};

/**
 * Catches up with Stripe's list of events at the start, after an outage of the database, and every
 * so often; in one instance at a time.
 */
export function createCatchUpTask(options: KeepCaughtUpOptions): KeeperTask['mend'] {
  const { query, logger, now, intervalMs } = options;
  const holder = options.nonce();
  /** Until then something may have been missed. */
  let missedUntilMs = now();
  let restUntilMs = 0;

  return async (signal) => {
    if (now() < restUntilMs) return;
    try {
      const dueAfterMs = Math.min(intervalMs, now() - missedUntilMs);
      await takeTurn(query, { name: 'catch-up', holder, dueAfterMs }, (walk) =>
        catchUp(walk, options, signal),
      );
    } catch (error) {
      if (error instanceof Stopped) return;
      if (error instanceof DatabaseUnavailable) missedUntilMs = now();
      if (!(error instanceof StripeApiFailed && error.isForbidden)) throw error;
      if (restUntilMs === 0) {
        logger.warn(
          { err: error },
          'missed events are not looked for: STRIPE_SECRET_KEY may not read events',
        );
      }
      restUntilMs = now() + intervalMs;
    }
  };
}
