import type { Query } from '../postgres/database.ts';
import { pause } from '../runtime/pause.ts';
import { dismissParkedBatch, type ParkedFilter } from './parked-events.ts';

const BATCH = 500;
const PAUSE_MS = 50;

/**
 * Dismisses parked events that match the filter and whose customer still has no team, a few at a time, until
 * the signal is aborted. They no longer raise alerts. Returns how many it dismissed.
 */
export async function dismissParkedEvents(
  query: Query,
  filter: ParkedFilter,
  signal: AbortSignal,
): Promise<number> {
  let dismissed = 0;
  while (!signal.aborted) {
    const count = await dismissParkedBatch(query, filter, BATCH);
    dismissed += count;
    if (count < BATCH) break;
    await pause(PAUSE_MS, { signal });
  }
  return dismissed;
}
