import type { Query } from '../postgres/database.ts';
import { pause } from '../runtime/retry.ts';
import type { StripeApi } from '../stripe/api.ts';

/** 10 calls a second, a fraction of what Stripe allows. */
const CALL_INTERVAL = "interval '100 milliseconds'";

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
    retrieveCheckoutSession: limited(api.retrieveCheckoutSession),
    listEvents: limited(api.listEvents),
    listSubscriptions: limited(api.listSubscriptions),
    listCustomers: limited(api.listCustomers),
  };
}

/**
 * Schedules a call to Stripe's API after all calls scheduled so far. Returns the milliseconds until then. A
 * call scheduled more than a minute ahead is ignored, because the server's clock has been set back since.
 */
async function scheduleCall(query: Query): Promise<number> {
  const [row] = await query<{ waitMs: number }>({
    name: 'schedule_call',
    text: `
      insert into instep.leased_jobs as last (name, started_at)
      values ('stripe-call', clock_timestamp())
          on conflict (name) do update
         set started_at = case
               when last.started_at > clock_timestamp() + interval '1 minute' then clock_timestamp()
               else greatest(last.started_at + ${CALL_INTERVAL}, clock_timestamp())
             end
      returning greatest(0, extract(epoch from started_at - clock_timestamp()) * 1000)::integer
                as "waitMs"`,
  });
  if (row === undefined) throw new RangeError('an upsert has one row');
  return row.waitMs;
}
