import type { Query } from '../postgres/database.ts';
import {
  type EventFilter,
  type EventRow,
  readEvents,
  readEventsAt,
  readParkedPositions,
} from '../queries/search-events.ts';
import { END, rangesBackwards } from './search.ts';

/** A page of search results, the newest event first. */
export type PageOfEvents = {
  readonly events: readonly EventRow[];
  /** The next page begins before this position; `null` on the last page. */
  readonly before: number | null;
  /** Set when time ran out before the page was full: the search has reached this time. */
  readonly searchedToMs: number | null;
};

export type PageRequest = {
  readonly filter: EventFilter;
  /** Only events before this position; `null`: the whole log. */
  readonly before: number | null;
  readonly limit: number;
  /** In milliseconds, by a clock that is never set. */
  readonly clockMs: () => number;
};

/** After this time the search ends with what it has found. */
const BUDGET_MS = 30;

/** The number of events that one statement examines, within a few milliseconds. */
const RANGE = 5_000;

/**
 * Searches the log for a page of events. Where no index helps, it examines range after range until
 * time runs out, and the next page continues there. Pages begin at positions, so they stay the same
 * while events arrive.
 */
export async function readPageOfEvents(query: Query, request: PageRequest): Promise<PageOfEvents> {
  const { filter, before, limit, clockMs } = request;
  const upTo = before === null ? END : before - 1;
  const startedAtMs = clockMs();
  const parked = await searchParked(query, filter, upTo, limit + 1);
  if (parked !== null) return pageOf(parked, limit);
  const events: EventRow[] = [];
  for await (const range of rangesOf(query, filter, upTo)) {
    const wanted = { order: 'newest first', limit: limit + 1 - events.length } as const;
    events.push(...(await readEvents(query, filter, range, wanted)));
    if (events.length > limit) return pageOf(events, limit);
    if (clockMs() - startedAtMs < BUDGET_MS) continue;

    const rest = { after: 0, upTo: range.after };
    const [next] = await readEvents(query, {}, rest, { order: 'newest first', limit: 1 });
    if (next === undefined) break;
    return { events, before: range.after + 1, searchedToMs: next.receivedAtMs };
  }
  return pageOf(events, limit);
}

function pageOf(found: readonly EventRow[], limit: number): PageOfEvents {
  const events = found.slice(0, limit);
  const before = found.length > limit ? (events.at(-1)?.position ?? null) : null;
  return { events, before, searchedToMs: null };
}

/** The parked events, from their index; `null` for another search, or when there are too many. */
async function searchParked(
  query: Query,
  { outcome, ...others }: EventFilter,
  upTo: number,
  limit: number,
): Promise<EventRow[] | null> {
  if (outcome !== 'parked' || others.customerId !== undefined) return null;
  const positions = await readParkedPositions(query);
  if (positions === null) return null;
  const wanted = positions.filter((position) => position <= upTo);
  return await readEventsAt(query, { outcome, ...others }, wanted, limit);
}

/** The whole log at once where an index finds the events. */
async function* rangesOf(query: Query, filter: EventFilter, upTo: number) {
  const { customerId, ...others } = filter;
  const isEverything = Object.values(others).every((one) => one === undefined);
  if (customerId !== undefined || isEverything) yield { after: 0, upTo };
  else yield* rangesBackwards(query, filter, upTo, RANGE);
}
