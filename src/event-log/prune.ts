import type { Query } from '../postgres/database.ts';
import { type PruneStep, pruneEvents } from '../queries/prune-events.ts';
import { pause } from '../runtime/pause.ts';

export type PruneOptions = {
  readonly query: Query;
  /** What was received then or later stays, in milliseconds since 1970. */
  readonly cutoffMs: number;
  readonly onProgress?: (pruned: number) => void;
};

/** After each step it is everybody else's turn. */
const PAUSE_MS = 50;

/**
 * Prunes the log from its beginning up to the cutoff, in small steps, until the signal asks it to
 * leave the rest. It changes no team, now or later (docs/decisions/0012). Returns how many events
 * it deleted.
 */
export async function pruneLog(
  { query, cutoffMs, onProgress }: PruneOptions,
  signal: AbortSignal,
): Promise<number> {
  let pruned = 0;
  let step: PruneStep = { afterPosition: 0, cutoffMs };
  while (!signal.aborted) {
    const { count, lastPosition } = await pruneEvents(query, step);
    pruned += count;
    onProgress?.(pruned);
    if (lastPosition === null) break;
    step = { ...step, afterPosition: lastPosition };
    await pause(PAUSE_MS, { signal });
  }
  return pruned;
}
