import type { Ingest } from '../../src/ingest/pipeline.ts';
import { createAmbiguousOrderJob } from '../../src/maintenance/ambiguous-order.ts';
import { applyParkedEvents } from '../../src/maintenance/parked-events.ts';
import { lookUpProductNames } from '../../src/maintenance/product-names.ts';
import type { Job } from '../../src/maintenance/worker.ts';
import type { Query } from '../../src/postgres/database.ts';
import { readAmbiguousSubscriptions } from '../../src/queries/subscriptions.ts';
import type { Logger } from '../../src/runtime/logging.ts';
import type { Account } from './simulated-api.ts';
import { isTemporary } from './unreliable-database.ts';

export type KeepingOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly account: Pick<Account, 'retrieveSubscription' | 'retrieveProductName'>;
  readonly logger: Logger;
  readonly now: () => number;
  readonly nonce: () => string;
};

const INTERVAL_MS = 100;

/** The keeper's own tasks, with the simulated API instead of Stripe's. */
export function keeperTasks(options: KeepingOptions): readonly Job[] {
  const { query, ingest, account, logger, now, nonce } = options;
  const retrieveSubscription = (id: string) => account.retrieveSubscription(id);
  const retrieveProductName = (id: string) => account.retrieveProductName(id);
  const ties = createAmbiguousOrderJob({ query, ingest, retrieveSubscription, now, nonce });
  const jobs: Readonly<Record<string, Job['run']>> = {
    parked: (signal) => applyParkedEvents(query, ingest, signal),
    ties,
    names: (signal) => lookUpProductNames({ query, retrieveProductName, logger }, signal),
  };
  return Object.entries(jobs).map(([name, run]) => ({ name, intervalMs: INTERVAL_MS, run }));
}

/** So often every task may have its turn until nothing is left to be repaired. */
const MAX_TURNS = 50;

/** Lets the keeper have its turn, until nothing is out of step. What fails is tried again. */
export async function settle(tasks: readonly Job[], query: Query): Promise<void> {
  const { signal } = new AbortController();
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    let isDone = true;
    for (const { run } of tasks) {
      try {
        await run(signal);
      } catch (error) {
        if (!isTemporary(error)) throw error;
        isDone = false;
      }
    }
    if (isDone && (await readAmbiguousSubscriptions(query, 1)).length === 0) return;
  }
}
