import type { PlanSelection } from '../../core/plan-selection.ts';
import type { Ingest } from '../../ingest/pipeline.ts';
import type { Database } from '../../postgres/database.ts';
import type { Logger } from '../../runtime/logging.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { Finding } from './finding.ts';

export type ReconcileOptions = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly listSubscriptions: StripeApi['listSubscriptions'];
  readonly listCustomers: StripeApi['listCustomers'];
  /** The name of a product, as far as it is to be had. */
  readonly nameOf: (productId: string) => Promise<string | null>;
  readonly planSelection: PlanSelection;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
  /** Shows what has drifted, and leaves it. */
  readonly isDryRun: boolean;
  readonly onFinding: (finding: Finding) => void;
  readonly onProgress?: (of: Progressing, done: number) => void;
};

/** What is gone through, one after the other. */
export type Progressing = 'subscriptions' | 'teams' | 'customers';
