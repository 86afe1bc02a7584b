import { DeadlineExceeded } from '../../runtime/deadline.ts';
import type { StripeApi } from '../../stripe/api.ts';
import { StripeApiFailed } from '../../stripe/api-call.ts';
import type { Instruments } from './instruments.ts';

const BOUNDS_SECONDS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15];

/** Counts and times the calls of Stripe's API. */
export function observeApiCalls(instruments: Instruments, clockMs: () => number) {
  const durations = instruments.histogram({
    name: 'instep_stripe_api_call_duration_seconds',
    help: 'How long calls of the API of Stripe took, by call and result: done, a status, timeout, or no answer.',
    labelNames: ['call', 'result'],
    bounds: BOUNDS_SECONDS,
  });

  async function time<Answer>(call: string, underWay: Promise<Answer>): Promise<Answer> {
    const beganMs = clockMs();
    const ended = (result: string) =>
      durations.with({ call, result }).observe((clockMs() - beganMs) / 1_000);
    try {
      const answer = await underWay;
      ended('done');
      return answer;
    } catch (error) {
      ended(resultOf(error));
      throw error;
    }
  }

  return (api: StripeApi): StripeApi => ({
    retrieveProductName: (id) => time('product', api.retrieveProductName(id)),
    retrieveSubscription: (id) => time('subscription', api.retrieveSubscription(id)),
    listEvents: (from) => time('events', api.listEvents(from)),
    listSubscriptions: (from) => time('subscriptions', api.listSubscriptions(from)),
    listCustomers: (from) => time('customers', api.listCustomers(from)),
  });
}

function resultOf(error: unknown): string {
  if (error instanceof DeadlineExceeded) return 'timeout';
  if (!(error instanceof StripeApiFailed)) return 'other';
  return error.status === null ? 'no answer' : String(error.status);
}
