import type { Query } from '../postgres/database.ts';
import { deleteParkedEvents, type ParkedFilter } from '../queries/parked-events.ts';
import { pause } from '../runtime/pause.ts';

const BATCH = 500;
const PAUSE_MS = 50;

/**
 * Deletes parked events that match the filter and whose customer still has no team, a few at a time,
 * until the signal is aborted. Returns how many it deleted.
 */
export async function dismissParkedEvents(
  query: Query,
  filter: ParkedFilter,
  signal: AbortSignal,
): Promise<number> {
  let dismissed = 0;
  while (!signal.aborted) {
    const count = await deleteParkedEvents(query, filter, BATCH);
    dismissed += count;
    if (count < BATCH) break;
    await pause(PAUSE_MS, { signal });
  }
  return dismissed;
}
