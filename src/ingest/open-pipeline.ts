import type { PlanSelection } from '../core/plan-selection.ts';
import type { Database } from '../postgres/database.ts';
import { readProductName, writeProductName } from '../queries/products.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import { createProductNames, type ProductNames } from '../stripe/product-names.ts';
import { createIngestPipeline, type IngestPipeline } from './pipeline.ts';

export type OpenIngestPipelineOptions = {
  readonly database: Database;
  readonly api: Pick<StripeApi, 'retrieveProductName'>;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Which of several subscriptions a team has. */
  readonly planSelection: PlanSelection;
  readonly maxQueued: number;
  readonly instrumentation?: Instrumentation;
};

const MAX_BATCH = 500;
/**
 * Who would have to wait longer for a turn is asked to come again. Those who wait are the next batch,
 * which takes as long once more: within a second all is stored that was let in.
 */
const MAX_WAIT_MS = 300;

/** The one door to a database, with the names of products from there and from Stripe's API. */
export function openIngestPipeline(
  options: OpenIngestPipelineOptions,
): IngestPipeline & { readonly productNames: ProductNames } {
  const { database, api, logger, now } = options;
  const productNames = createProductNames(
    {
      readStored: (productId) => readProductName(database.query, productId),
      store: async (productId, name) => {
        await writeProductName(database.query, productId, name);
      },
      retrieve: (productId) => api.retrieveProductName(productId),
      onRetrieveError: (productId, err) =>
        logger.warn({ productId, err }, 'product name lookup failed'),
    },
    now,
  );
  const limits = { maxBatch: MAX_BATCH, maxWaitMs: MAX_WAIT_MS };
  return { ...createIngestPipeline({ ...options, ...limits, productNames }), productNames };
}
