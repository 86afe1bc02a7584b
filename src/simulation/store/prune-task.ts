import type { Query } from '../../database/database.ts';
import { pruneEvents } from '../../store/prune-events.ts';
import type { KeeperTask } from '../../sync/keeper.ts';

const INTERVAL_MS = 50;

/**
 * Prunes the log at any moment of all that it need not keep, however new it is: some events a turn,
 * then those after them, and in the end from the beginning.
 */
export function createPruneTask(query: Query, now: () => number): KeeperTask {
  let afterPosition = 0;
  return {
    name: 'retention',
    intervalMs: INTERVAL_MS,
    async mend() {
      const step = { afterPosition, cutoffMs: now() };
      afterPosition = (await pruneEvents(query, step)).lastPosition ?? 0;
    },
  };
}
