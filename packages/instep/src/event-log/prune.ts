import type { Query } from '../postgres/database.ts';
import { rest } from '../runtime/pause.ts';
import { type PruneStep, pruneEvents } from './prune-events.ts';

type PruneOptions = {
  readonly query: Query;
  /** Events received before then are pruned, in milliseconds since 1970. */
  readonly cutoffMs: number;
  readonly onProgress?: (pruned: number) => void;
};

/** Steps take at most this share of the time, so that other work comes first. */
const SHARE = 0.05;

/**
 * Prunes the log from its beginning up to the cutoff, in small steps, until the signal is aborted.
 * It changes no team (docs/decisions/0012). Returns how many events it deleted.
 */
export async function pruneLog(
  { query, cutoffMs, onProgress }: PruneOptions,
  signal: AbortSignal,
): Promise<number> {
  let pruned = 0;
  let step: PruneStep = { afterPosition: 0, cutoffMs };
  while (!signal.aborted) {
    const startedAtMs = performance.now();
    const { count, lastPosition } = await pruneEvents(query, step);
    pruned += count;
    onProgress?.(pruned);
    if (lastPosition === null) break;
    step = { ...step, afterPosition: lastPosition };
    await rest({ startedAtMs, share: SHARE }, signal);
  }
  return pruned;
}
