import { readLatestStatesFromLog } from '../event-log/latest-states.ts';
import type { Database } from '../postgres/database.ts';
import { isOfOneEvent } from '../postgres/errors.ts';
import { readCustomersNotFromLog } from '../postgres/statements/latest-states.ts';
import type { Job } from './worker.ts';
import { RestingCustomers } from './worker.ts';

/** A run takes at most this long, every second. */
const BUDGET_MS = 200;

const PAGE = 50;

/**
 * Reads from the log what a migration could not know of older subscriptions: since when their status holds, and the
 * other columns of `instep.latest_states`. Customers whose team is locked rest, so that they delay no others.
 */
export function createLatestStatesJob(database: Database, clockMs: () => number): Job['run'] {
  const resting = new RestingCustomers();

  async function readOf(customerId: string): Promise<void> {
    try {
      const isRead = await database.transaction((query) =>
        readLatestStatesFromLog(query, customerId),
      );
      if (!isRead) resting.add(customerId);
    } catch (error) {
      if (!isOfOneEvent(error)) throw error;
      resting.add(customerId);
    }
  }

  return async (signal) => {
    const startedAtMs = clockMs();
    for (;;) {
      const due = { limit: PAGE, exceptIds: resting.ids() };
      const customerIds = await readCustomersNotFromLog(database.query, due);
      if (customerIds.length === 0) return;
      for (const customerId of customerIds) {
        if (signal.aborted || clockMs() - startedAtMs > BUDGET_MS) return;
        await readOf(customerId);
      }
    }
  };
}
