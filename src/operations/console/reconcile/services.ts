import { limitRate } from '../../../maintenance/rate-limiter.ts';
import type { ReconcileServices } from '../../../maintenance/reconcile/options.ts';
import type { ConsoleOptions } from '../options.ts';

/** What the console's reconciliations need: they share one rate limit. */
export function reconcileServices(options: ConsoleOptions): ReconcileServices {
  const { database, ingest, productNames, planSelection, logger, now, nonce } = options;
  const api = limitRate(options.api);
  const { nameOf } = productNames;
  return { database, ingest, api, nameOf, planSelection, logger, now, nonce };
}
