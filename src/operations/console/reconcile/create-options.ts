import { createRateLimiter } from '../../../maintenance/rate-limiter.ts';
import type { ReconcileOptions } from '../../../maintenance/reconcile/options.ts';
import type { ConsoleOptions } from '../options.ts';

type Given = Pick<ReconcileOptions, 'isDryRun' | 'onFinding' | 'onProgress'>;

/** Makes what a reconciliation needs. All of them together ask Stripe as often as one may. */
export function reconcileOptionsOf(console: ConsoleOptions) {
  const { api, productNames, now } = console;
  const pace = createRateLimiter(now);
  return (given: Given): ReconcileOptions => ({
    ...console,
    ...given,
    listSubscriptions: (from) => pace(() => api.listSubscriptions(from)),
    listCustomers: (from) => pace(() => api.listCustomers(from)),
    nameOf: productNames.nameOf,
  });
}

export type MakeReconcileOptions = ReturnType<typeof reconcileOptionsOf>;
