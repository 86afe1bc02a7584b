import type { Logger } from '../runtime/logging.ts';
import { Stopped } from '../runtime/retry.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';
import type { Job } from './worker.ts';

type RestOptions = {
  job: string;
  logger: Logger;
  restMs: number;
  clockMs?: () => number;
};

/**
 * Warns when the key lacks permission for a job, and lets the job rest. A job that was stopped has not
 * failed.
 */
export function restWithoutPermission(
  run: Job['run'],
  { job, logger, restMs, clockMs = () => performance.now() }: RestOptions,
): Job['run'] {
  let forbiddenUntilMs = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    if (clockMs() < forbiddenUntilMs) return;
    try {
      await run(signal);
    } catch (err) {
      if (err instanceof Stopped) return;
      if (!(err instanceof StripeApiFailed && err.isForbidden)) throw err;
      logger.warn(
        { job, err },
        'STRIPE_SECRET_KEY lacks permission to read subscriptions, events or customers',
      );
      forbiddenUntilMs = clockMs() + restMs;
    }
  };
}

const REST_MS = 10_000;

/** Customers for whom a job failed. It leaves them alone for a while, so that they delay no others. */
export class RestingCustomers {
  #restMs: number;
  #untilMs = new Map<string, number>();

  constructor(restMs = REST_MS) {
    this.#restMs = restMs;
  }

  add(customerId: string): void {
    this.#untilMs.set(customerId, performance.now() + this.#restMs);
  }

  /** Those who are resting now. */
  ids(): string[] {
    for (const [customerId, untilMs] of this.#untilMs) {
      if (performance.now() >= untilMs) this.#untilMs.delete(customerId);
    }
    return [...this.#untilMs.keys()];
  }
}
