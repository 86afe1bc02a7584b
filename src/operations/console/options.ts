import type { PlanSelection } from '../../core/plan-selection.ts';
import type { Ingest } from '../../ingest/pipeline.ts';
import type { Database } from '../../postgres/database.ts';
import type { Background } from '../../runtime/background.ts';
import type { Logger } from '../../runtime/logging.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { Mode } from '../../stripe/key-kind.ts';
import type { ProductNames } from '../../stripe/product-names.ts';
import type { Exposition } from '../metrics/exposition.ts';

export type ConsoleOptions = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly api: StripeApi;
  readonly productNames: ProductNames;
  readonly planSelection: PlanSelection;
  /** The mode of STRIPE_SECRET_KEY; `null` when it does not show it. */
  readonly keyMode: Mode | null;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** In milliseconds, by a clock that is never set. */
  readonly clockMs: () => number;
  readonly nonce: () => string;
  readonly wait: (delayMs: number) => Promise<void>;
  /** What operators log in with; `null`: everyone on this machine has access. */
  readonly token: string | null;
  /** For work that outlives its request. */
  readonly background: Background;
  /** What `GET /metrics` returns. */
  readonly metrics: Exposition;
};
