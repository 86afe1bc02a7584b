import { setTimeout as sleep } from 'node:timers/promises';

/** Makes a call when it is its turn. */
export type RateLimiter = <Result>(call: () => Promise<Result>) => Promise<Result>;

/** Ten times a second: a fraction of what Stripe allows. */
const INTERVAL_MS = 100;

/**
 * Lets calls to Stripe's API through one after the other, as often as a process may ask in the
 * background. `now` in milliseconds.
 */
export function createRateLimiter(now: () => number): RateLimiter {
  let nextAtMs = 0;
  return async (call) => {
    const startAtMs = Math.max(now(), nextAtMs);
    nextAtMs = startAtMs + INTERVAL_MS;
    await sleep(startAtMs - now());
    return await call();
  };
}
