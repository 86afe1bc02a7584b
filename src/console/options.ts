import type { Database } from '../database/database.ts';
import type { Logger } from '../logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import type { ProductNames } from '../stripe/product-names.ts';
import type { TeamPlanChoice } from '../subscriptions/team-plan.ts';
import type { Accept } from '../sync/door.ts';

/** What the pages show and do is done with these. */
export type ConsoleOptions = {
  readonly database: Database;
  /** The one door. */
  readonly accept: Accept;
  readonly api: StripeApi;
  readonly productNames: ProductNames;
  /** Which of several subscriptions a team has. */
  readonly choice: TeamPlanChoice;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
};
