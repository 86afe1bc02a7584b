// A job that deletes what is older than it is kept for.

import type { Query } from '../postgres/database.ts';
import { onlyRow } from '../postgres/named-statement.ts';
import { withLease } from './lease.ts';
import type { Job } from './worker.ts';

const HOUR_MS = 60 * 60 * 1_000;

export type PruneServices = {
  readonly query: Query;
  readonly now: () => number;
  /** The instance, for the lease. */
  readonly holder: string;
};

/** None, if it is kept forever. */
export function createPruneJob(
  { query, now, holder }: PruneServices,
  name: string,
  keptMs: number | null,
  prune: (cutoffMs: number, signal: AbortSignal) => Promise<void>,
): Job[] {
  if (keptMs === null) return [];
  const run = async (signal: AbortSignal) => {
    await withLease(query, { name, holder, dueAfterMs: HOUR_MS }, async ({ complete }) => {
      // A clock that has jumped ahead must not delete anything: the database's has to agree.
      await prune(Math.min(now(), await readClock(query)) - keptMs, signal);
      if (!signal.aborted) await complete({});
    });
  };
  return [{ name, intervalMs: 60_000, run }];
}

async function readClock(query: Query): Promise<number> {
  const row = await onlyRow<{ nowMs: number }>(query, {
    name: 'read_clock',
    text: 'select (extract(epoch from now()) * 1000)::bigint as "nowMs"',
  });
  return row.nowMs;
}
