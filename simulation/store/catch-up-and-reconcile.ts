import { catchUp } from '../../src/maintenance/catch-up.ts';
import type { LeasedRun } from '../../src/maintenance/lease.ts';
import type { ReconcileOptions } from '../../src/maintenance/reconcile/options.ts';
import { reconcileCustomer } from '../../src/maintenance/reconcile/reconcile-customer.ts';
import type { Job } from '../../src/maintenance/worker.ts';
import type { KeepingOptions } from './maintenance-jobs.ts';
import type { Account } from './simulated-api.ts';
import type { StoreCustomer } from './store-world.ts';
import { isTemporary } from './unreliable-database.ts';

export type LookingBackOptions = Omit<KeepingOptions, 'account'> & { readonly account: Account };

const INTERVAL_MS = 200;

/** Every event of the provider's is in its list then. */
const BEFORE_ALL_MS = 0;

/**
 * The keeper's catch-up, as the one instance that is at it. Every world has a clock of its own, so
 * each walk goes through all that is listed; one that failed is gone on with.
 */
export function createCatchUp(options: LookingBackOptions): Job {
  const { listEvents } = options.account;
  let left: unknown = null;
  const walk: LeasedRun = {
    get progress() {
      return left;
    },
    async saveProgress(progress) {
      left = progress;
    },
    async complete() {
      left = null;
    },
  };
  return {
    name: 'catch-up',
    intervalMs: INTERVAL_MS,
    run: (signal) => catchUp(walk, { ...options, listEvents, now: () => BEFORE_ALL_MS }, signal),
  };
}

/**
 * Reconciles customers one by one: repairs those whose events are forgotten, and only looks at all
 * others. Returns the ids of those among these that it would change. What fails is tried again.
 */
export async function reconcileCustomers(
  customers: readonly StoreCustomer[],
  options: LookingBackOptions & Pick<ReconcileOptions, 'database' | 'planSelection'>,
): Promise<ReadonlySet<string>> {
  const { account } = options;
  const { signal } = new AbortController();
  const drifting = new Set<string>();
  const reconciling = {
    ...options,
    api: account,
    nameOf: (productId: string) => account.retrieveProductName(productId),
  };
  for (const { history, loss } of customers) {
    const { customerId } = history;
    const isDryRun = loss.kind !== 'forgotten';
    const onFinding = () => void (isDryRun && drifting.add(customerId));
    for (let isDone = false; !isDone; ) {
      try {
        await reconcileCustomer(customerId, { ...reconciling, isDryRun, onFinding }, signal);
        isDone = true;
      } catch (error) {
        if (!isTemporary(error)) throw error;
      }
    }
  }
  return drifting;
}
