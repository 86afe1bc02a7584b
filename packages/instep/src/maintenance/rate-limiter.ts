import type { Query } from '../postgres/database.ts';
import { pause } from '../runtime/pause.ts';
import type { StripeApi } from '../stripe/api.ts';
import { scheduleCall } from './turns.ts';

/** Stripe's API for background calls. The calls of all processes of a database are spaced evenly in time. */
export function limitRate(api: StripeApi, query: Query): StripeApi {
  function limited<From, Result>(call: (from: From, signal?: AbortSignal) => Promise<Result>) {
    return async (from: From, signal?: AbortSignal): Promise<Result> => {
      await pause(await scheduleCall(query), { signal });
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
