import { InstepError } from '../runtime/errors.ts';

/** Why a checkout was not completed, or a customer not synced. docs/errors.md has the cause and remedy of each. */
export type SyncFailedCode =
  | 'CHECKOUT_NOT_COMPLETE'
  | 'CHECKOUT_OF_ANOTHER_TEAM'
  | 'CUSTOMER_UNKNOWN'
  | 'CUSTOMER_WITHOUT_TEAM'
  | 'NOT_FOUND'
  | 'STRIPE_UNAVAILABLE'
  | 'TEAM_HAS_ANOTHER_CUSTOMER';

/** A checkout was not completed, or a customer not synced. Nothing was changed. */
export class SyncFailed extends InstepError {
  readonly code: SyncFailedCode;

  constructor(code: SyncFailedCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
