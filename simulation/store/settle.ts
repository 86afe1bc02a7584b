import type { Accept } from '../../src/ingest/pipeline.ts';
import { createTiesTask } from '../../src/maintenance/ambiguous-order.ts';
import { keepParked } from '../../src/maintenance/parked-events.ts';
import { keepNames } from '../../src/maintenance/product-names.ts';
import type { KeeperTask } from '../../src/maintenance/worker.ts';
import type { Query } from '../../src/postgres/database.ts';
import { DatabaseUnavailable } from '../../src/postgres/errors.ts';
import { readUncertainSubscriptions } from '../../src/queries/subscriptions.ts';
import type { Logger } from '../../src/runtime/logging.ts';
import type { Account } from './account.ts';

export type KeepingOptions = {
  readonly query: Query;
  readonly accept: Accept;
  readonly account: Pick<Account, 'retrieveSubscription' | 'retrieveProductName'>;
  readonly logger: Logger;
  readonly now: () => number;
  readonly nonce: () => string;
};

const INTERVAL_MS = 100;

/** The keeper's own tasks, with the simulated API instead of Stripe's. */
export function keeperTasks(options: KeepingOptions): readonly KeeperTask[] {
  const { query, accept, account, logger, now, nonce } = options;
  const retrieveSubscription = (id: string) => account.retrieveSubscription(id);
  const retrieveProductName = (id: string) => account.retrieveProductName(id);
  const ties = createTiesTask({ query, accept, retrieveSubscription, now, nonce });
  const mends: Readonly<Record<string, KeeperTask['mend']>> = {
    parked: (signal) => keepParked(query, accept, signal),
    ties,
    names: (signal) => keepNames({ query, retrieveProductName, logger }, signal),
  };
  return Object.entries(mends).map(([name, mend]) => ({ name, intervalMs: INTERVAL_MS, mend }));
}

/** So often every task may have its turn until nothing is left to be mended. */
const MAX_TURNS = 50;

/** Lets the keeper have its turn, until nothing is out of step. What fails is tried again. */
export async function settle(tasks: readonly KeeperTask[], query: Query): Promise<void> {
  const { signal } = new AbortController();
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    let isDone = true;
    for (const { mend } of tasks) {
      try {
        await mend(signal);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        isDone = false;
      }
    }
    if (isDone && (await readUncertainSubscriptions(query, 1)).length === 0) return;
  }
}
