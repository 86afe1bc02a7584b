import type { PlanSelection } from '../../core/plan-selection.ts';
import type { Ingest } from '../../ingest/pipeline.ts';
import type { Database } from '../../postgres/database.ts';
import type { Background } from '../../runtime/background.ts';
import type { Logger } from '../../runtime/logging.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { ProductNames } from '../../stripe/product-names.ts';
import type { Exposition } from '../metrics/exposition.ts';

/** What the pages show and do is done with these. */
export type ConsoleOptions = {
  readonly database: Database;
  /** The one door. */
  readonly ingest: Ingest;
  readonly api: StripeApi;
  readonly productNames: ProductNames;
  /** Which of several subscriptions a team has. */
  readonly planSelection: PlanSelection;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
  /** Resolves after so many milliseconds. */
  readonly wait: (delayMs: number) => Promise<void>;
  /** Whoever knows it may see the pages; `null` on a loopback address: whoever is on this machine. */
  readonly token: string | null;
  /** For what goes on while no request waits for it. */
  readonly background: Background;
  /** What `GET /metrics` says. */
  readonly metrics: Exposition;
};
