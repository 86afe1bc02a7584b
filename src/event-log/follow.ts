import type { Query } from '../postgres/database.ts';
import { type EventFilter, type EventRow, readPositions } from '../queries/search-events.ts';
import { pause } from '../runtime/pause.ts';
import { eventsWithin } from './search.ts';

export type FollowOptions = {
  /** What comes after this position. */
  readonly after: number;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

const INTERVAL_MS = 500;

/**
 * A position is given out a moment before its event is committed: one that is smaller than those
 * that are there already may still come, for as long as a transaction may take.
 */
const SETTLED_AFTER_MS = 10_000;

/** So many positions before the first one are watched for such events, too. */
const WATCHED_BEFORE = 10_000;

/** The events that come, as soon as they are there, until the signal says that it is enough. */
export async function* followLog(
  query: Query,
  filter: EventFilter,
  { after, now }: FollowOptions,
  signal: AbortSignal,
): AsyncGenerator<EventRow> {
  let settled = Math.max(0, after - WATCHED_BEFORE);
  const seenAtMs = new Map<number, number>();
  const end = Number.MAX_SAFE_INTEGER;
  for (const position of await readPositions(query, { after: settled, upTo: after })) {
    seenAtMs.set(position, now());
  }
  while (!signal.aborted) {
    const there = await readPositions(query, { after: settled, upTo: end });
    const fresh = there.filter((position) => !seenAtMs.has(position));
    for (const position of fresh) seenAtMs.set(position, now());
    const [first] = fresh;
    const last = fresh.at(-1);
    if (first !== undefined && last !== undefined) {
      const isFresh = new Set(fresh);
      const stretch = { after: first - 1, upTo: last };
      for await (const event of eventsWithin(query, filter, stretch, 'oldest first')) {
        if (isFresh.has(event.position)) yield event;
      }
    }
    for (const [position, atMs] of seenAtMs) {
      if (atMs + SETTLED_AFTER_MS <= now()) settled = Math.max(settled, position);
    }
    for (const position of seenAtMs.keys()) if (position <= settled) seenAtMs.delete(position);
    await pause(INTERVAL_MS, { signal });
  }
}
