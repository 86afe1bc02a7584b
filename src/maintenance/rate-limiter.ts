import { pause } from '../runtime/pause.ts';
import type { StripeApi } from '../stripe/api.ts';

/** 10 calls a second, a fraction of what Stripe allows. */
const INTERVAL_MS = 100;

/** Stripe's API for background calls, which are all together spaced evenly in time. */
export function limitRate(api: StripeApi): StripeApi {
  let nextAtMs = 0;
  function limited<From, Result>(call: (from: From, signal?: AbortSignal) => Promise<Result>) {
    return async (from: From, signal?: AbortSignal): Promise<Result> => {
      const nowMs = performance.now();
      const startAtMs = Math.max(nowMs, nextAtMs);
      nextAtMs = startAtMs + INTERVAL_MS;
      await pause(startAtMs - nowMs, { signal });
      return await call(from, signal);
    };
  }
  return {
    retrieveProductName: limited(api.retrieveProductName),
    retrieveSubscription: limited(api.retrieveSubscription),
    listEvents: limited(api.listEvents),
    listSubscriptions: limited(api.listSubscriptions),
    listCustomers: limited(api.listCustomers),
  };
}
