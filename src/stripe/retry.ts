import { setTimeout as sleep } from 'node:timers/promises';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import { StripeApiFailed } from './api-call.ts';

/** Whoever it was done for asks to stop. What was done until then stays. */
export class Stopped extends InstepError {
  readonly code = 'STOPPED';
}

const STOPPED = 'stopped before it was done';

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 20_000;

/**
 * Calls Stripe's API again, later each time, where it has enough of us, fails or does not answer.
 *
 * @throws Stopped as soon as the signal says so; otherwise what the last attempt threw
 */
export async function withRetries<Result>(
  call: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (let pauseMs = FIRST_PAUSE_MS, attempt = 1; ; pauseMs *= 2, attempt += 1) {
    if (signal.aborted) throw new Stopped(STOPPED);
    try {
      return await unlessStopped(call(), signal);
    } catch (error) {
      if (attempt === ATTEMPTS || !isRetryable(error)) throw error;
      const retryAfterMs = error instanceof StripeApiFailed ? error.retryAfterMs : null;
      const longEnoughMs = Math.min(retryAfterMs ?? pauseMs, LONGEST_PAUSE_MS);
      await sleep(longEnoughMs, undefined, { signal }).catch(() => {
        throw new Stopped(STOPPED);
      });
    }
  }
}

function isRetryable(error: unknown): boolean {
  if (error instanceof DeadlineExceeded) return true;
  return error instanceof StripeApiFailed && !error.isForbidden && !error.isRefused;
}

/** The promise's own end, or `Stopped` as soon as the signal says so. It cancels nothing. */
async function unlessStopped<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop: (() => void) | undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(new Stopped(STOPPED));
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([promise, stopped]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
