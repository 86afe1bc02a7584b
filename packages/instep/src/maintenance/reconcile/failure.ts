import { DeadlineExceeded } from '../../runtime/deadline.ts';
import { InstepError } from '../../runtime/errors.ts';
import { Stopped } from '../../runtime/retry.ts';
import { StripeApiFailed } from '../../stripe/api-failure.ts';

/** A reconciliation was stopped, or Stripe's API failed. The repairs made until then stay. */
export class ReconciliationFailed extends InstepError {
  readonly code = 'RECONCILIATION_FAILED';
  /** Whether another reconciliation with the same options can continue it. */
  readonly isResumable: boolean;

  constructor(message: string, { isResumable = true, ...options }: FailureOptions) {
    super(message, options);
    this.isResumable = isResumable;
  }
}

type FailureOptions = { readonly cause: Error; readonly isResumable?: boolean };

/** Waits for a reconciliation. @throws ReconciliationFailed, or an error that is not Stripe's */
export async function explainFailure<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof Stopped) throw new ReconciliationFailed(cause.message, { cause });
    if (cause instanceof StripeApiFailed && cause.isForbidden) {
      const message = 'STRIPE_SECRET_KEY lacks permission to read subscriptions and customers';
      throw new ReconciliationFailed(message, { cause, isResumable: false });
    }
    if (cause instanceof StripeApiFailed || cause instanceof DeadlineExceeded) {
      throw new ReconciliationFailed(`Stripe's API failed: ${cause.message}`, { cause });
    }
    throw cause;
  }
}
