import { readLatestStatesFromLog } from '../event-log/latest-states.ts';
import type { Database } from '../postgres/database.ts';
import { isOfOneEvent } from '../postgres/errors.ts';
import { readCustomersNotFromLog } from '../postgres/statements/latest-states.ts';
import type { Job } from './worker.ts';

/** A run takes at most this long, every second. */
const BUDGET_MS = 200;

const PAGE = 50;

/**
 * Reads from the log what a migration could not know of older subscriptions: since when their status holds, and the
 * other columns of `instep.latest_states`. A customer whose team is locked waits for the next run.
 */
export function createLatestStatesJob(database: Database, clockMs: () => number): Job['run'] {
  return async (signal) => {
    const startedAtMs = clockMs();
    const customerIds = await readCustomersNotFromLog(database.query, PAGE);
    for (const customerId of customerIds) {
      if (signal.aborted || clockMs() - startedAtMs > BUDGET_MS) return;
      try {
        await database.transaction((query) => readLatestStatesFromLog(query, customerId));
      } catch (error) {
        if (!isOfOneEvent(error)) throw error;
      }
    }
  };
}
