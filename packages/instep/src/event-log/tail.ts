import type { Query } from '../postgres/database.ts';
import { pause } from '../runtime/pause.ts';
import { END, eventsWithin } from './search.ts';
import { type EventFilter, type EventRow, readPositions } from './search-events.ts';

type TailOptions = {
  /** Follows the events after this position. */
  readonly after: number;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
};

const INTERVAL_MS = 500;

/**
 * An event gets its position before it is committed, so an event with a smaller position can appear later,
 * for as long as a transaction can take.
 */
const SETTLED_AFTER_MS = 10_000;

/** How far back the log is watched for such events. */
const WATCHED_BEFORE = 10_000;

/** Yields new events as they are committed, until the signal is aborted. */
export async function* tailLog(
  query: Query,
  filter: EventFilter,
  { after, clockMs }: TailOptions,
  signal: AbortSignal,
): AsyncGenerator<EventRow> {
  let settled = Math.max(0, after - WATCHED_BEFORE);
  const seenAtMs = new Map<number, number>();
  for (const position of await readPositions(query, { after: settled, upTo: after })) {
    seenAtMs.set(position, clockMs());
  }
  while (!signal.aborted) {
    const committed = await readPositions(query, { after: settled, upTo: END });
    const fresh = committed.filter((position) => !seenAtMs.has(position));
    for (const position of fresh) seenAtMs.set(position, clockMs());
    const [first] = fresh;
    const last = fresh.at(-1);
    if (first !== undefined && last !== undefined) {
      const isFresh = new Set(fresh);
      const range = { after: first - 1, upTo: last };
      for await (const event of eventsWithin(query, filter, range, 'oldest first')) {
        if (isFresh.has(event.position)) yield event;
      }
    }
    for (const [position, atMs] of seenAtMs) {
      if (atMs + SETTLED_AFTER_MS <= clockMs()) settled = Math.max(settled, position);
    }
    for (const position of seenAtMs.keys()) if (position <= settled) seenAtMs.delete(position);
    await pause(INTERVAL_MS, { signal });
  }
}
