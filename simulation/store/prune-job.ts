import type { Job } from '../../src/maintenance/worker.ts';
import type { Query } from '../../src/postgres/database.ts';
import { pruneEvents } from '../../src/queries/prune-events.ts';

const INTERVAL_MS = 50;

/**
 * Prunes the log at any moment of all that it need not keep, however new it is: some events a turn,
 * then those after them, and in the end from the beginning.
 */
export function createPruneTask(query: Query, now: () => number): Job {
  let afterPosition = 0;
  return {
    name: 'retention',
    intervalMs: INTERVAL_MS,
    async run() {
      const step = { afterPosition, cutoffMs: now() };
      afterPosition = (await pruneEvents(query, step)).lastPosition ?? 0;
    },
  };
}
