import { DeadlineExceeded } from '../../runtime/deadline.ts';
import { Stopped } from '../../runtime/retry.ts';
import { StripeApiFailed } from '../../stripe/api-call.ts';

/** What came between a reconciliation and its end. */
export type Interruption = {
  readonly reason: string;
  /** Whether another one may go on where it was, with nothing changed. */
  readonly mayResume: boolean;
};

/** Says why a reconciliation did not come to its end; `null` when it is none of Stripe's or ours. */
export function interruptionOf(error: unknown): Interruption | null {
  if (error instanceof Stopped) return { reason: 'stopped before it was done', mayResume: true };
  if (error instanceof StripeApiFailed && error.isForbidden) {
    const needed = 'STRIPE_SECRET_KEY must be one that may read subscriptions and customers';
    return { reason: `Stripe's API refused the key: ${needed}`, mayResume: false };
  }
  if (error instanceof StripeApiFailed || error instanceof DeadlineExceeded) {
    return { reason: `Stripe's API failed: ${error.message}`, mayResume: true };
  }
  return null;
}
