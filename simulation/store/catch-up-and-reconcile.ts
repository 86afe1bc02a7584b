import { catchUp } from 'instep-engine/src/repair/catch-up.ts';
import type { LeasedRun } from 'instep-engine/src/repair/lease.ts';
import { reconcileCustomer } from 'instep-engine/src/repair/reconcile/reconcile.ts';
import type { Job } from 'instep-engine/src/repair/worker.ts';
import type { MaintenanceOptions } from './maintenance-jobs.ts';
import type { SimulatedApi } from './simulated-api.ts';
import type { StoreCustomer } from './store-world.ts';
import { untilAvailable } from './until-available.ts';

/** The services that maintain the teams of a batch of worlds. */
export type CatchUpOptions = MaintenanceOptions & {
  readonly api: Pick<SimulatedApi, 'listEvents'>;
};

export const CATCH_UP_INTERVAL_MS = 200;

/** Before every event in the simulated Stripe's list. */
export const BEFORE_ALL_MS = 0;

/**
 * Catch-up, with a lease that is always held. Every world has its own clock, so each run reads the
 * whole list. A run continues where a failed one stopped.
 */
export function createCatchUpJob(options: CatchUpOptions): Job {
  const { listEvents } = options.api;
  let saved: unknown = null;
  const leased: LeasedRun = {
    get progress() {
      return saved;
    },
    async saveProgress(progress) {
      saved = isUnfinished(progress) ? progress : null;
    },
  };
  return {
    name: 'catch-up',
    intervalMs: CATCH_UP_INTERVAL_MS,
    run: (signal) => catchUp(leased, { ...options, listEvents, now: () => BEFORE_ALL_MS }, signal),
  };
}

/** Whether a run of catch-up continues. */
export const isUnfinished = (progress: object) =>
  'unfinishedRun' in progress && progress.unfinishedRun !== null;

/**
 * Reconciles customers one by one: repairs those with forgotten events, and runs dry for the others.
 * Returns the ids of those others that it would change.
 */
export async function reconcileCustomers(
  customers: readonly StoreCustomer[],
  options: CatchUpOptions & { readonly api: SimulatedApi },
): Promise<ReadonlySet<string>> {
  const nameOf = options.api.retrieveProductName;
  const { signal } = new AbortController();
  const drifting = new Set<string>();
  for (const { history, loss } of customers) {
    const { customerId } = history;
    const isDryRun = loss.kind !== 'forgotten';
    const onIssue = () => {
      if (isDryRun) drifting.add(customerId);
    };
    const reconciling = { ...options, nameOf };
    await untilAvailable(() =>
      reconcileCustomer(customerId, { ...reconciling, isDryRun, onIssue }, signal),
    );
  }
  return drifting;
}
