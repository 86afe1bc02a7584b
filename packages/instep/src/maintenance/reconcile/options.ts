import type { PlanSelection } from '../../core/plan-selection.ts';
import type { Ingest } from '../../ingest/pipeline.ts';
import type { Database } from '../../postgres/database.ts';
import type { Logger } from '../../runtime/logging.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { NameOf } from '../../stripe/product-names.ts';
import type { Finding } from './finding.ts';

/** The services that every reconciliation of a process uses. */
export type ReconcileServices = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly api: Pick<StripeApi, 'listSubscriptions' | 'listCustomers'>;
  readonly nameOf: NameOf;
  readonly planSelection: PlanSelection;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
};

export type ReconcileOptions = ReconcileServices & {
  /** Reports drift without repairing it. */
  readonly isDryRun: boolean;
  readonly onFinding: (finding: Finding) => void;
  readonly onProgress?: (progress: StepProgress) => void;
};

/** The progress of the current step. The steps come in this order. */
export type StepProgress = {
  readonly of: 'subscriptions' | 'teams' | 'customers';
  readonly done: number;
  /** The estimated total; `null` when there is none. */
  readonly total: number | null;
};
