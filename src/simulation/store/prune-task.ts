import type { Query } from '../../database/database.ts';
import { pruneEvents } from '../../store/prune-events.ts';
import type { KeeperTask } from '../../sync/keeper.ts';

const INTERVAL_MS = 50;

/** So many events a turn; then it goes on after them, and in the end from the beginning. */
const AT_ONCE = 1_000;

/** Prunes the log at any moment of all that it need not keep, however new it is. */
export function createPruneTask(query: Query, now: () => number): KeeperTask {
  let afterPosition = 0;
  return {
    name: 'retention',
    intervalMs: INTERVAL_MS,
    async mend() {
      const step = { afterPosition, limit: AT_ONCE, cutoffMs: now() };
      afterPosition = (await pruneEvents(query, step)).lastPosition ?? 0;
    },
  };
}
