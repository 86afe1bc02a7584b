import type { Query } from '../postgres/database.ts';
import {
  type EventFilter,
  type EventRow,
  readEvents,
  readEventsAt,
  readParkedPositions,
} from '../queries/search-events.ts';
import { positionRangesBackwards } from './search.ts';

/** A page of a search through the log, the newest first. */
export type PageOfEvents = {
  readonly events: readonly EventRow[];
  /** The next page holds what stands before this position; `null` when nothing does. */
  readonly before: number | null;
  /** Set when the time was over before the page was full: all that was received since is searched. */
  readonly searchedToMs: number | null;
};

export type PageRequest = {
  readonly filter: EventFilter;
  /** What stands before this position; `null`: all of the log. */
  readonly before: number | null;
  readonly limit: number;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

/** After so long no further stretch is looked at: somebody waits. */
const BUDGET_MS = 30;

/** So many events are looked at in one statement, which takes some milliseconds. */
const STRETCH = 5_000;

const WHOLE_LOG = Number.MAX_SAFE_INTEGER;

/**
 * The page of a search that a person reads. What no index knows is searched for stretch by stretch,
 * as far as the time goes; the next page goes on from there. Pages are told apart by positions, so
 * that they stay as they are while events arrive.
 */
export async function readPageOfEvents(query: Query, request: PageRequest): Promise<PageOfEvents> {
  const { filter, before, limit, now } = request;
  const upTo = before === null ? WHOLE_LOG : before - 1;
  const startedAtMs = now();
  const parked = await searchParked(query, filter, upTo, limit + 1);
  if (parked !== null) return pageOf(parked, limit);
  const events: EventRow[] = [];
  for await (const stretch of stretchesOf(query, filter, upTo)) {
    const wanted = { order: 'newest first', limit: limit + 1 - events.length } as const;
    events.push(...(await readEvents(query, filter, stretch, wanted)));
    if (events.length > limit) return pageOf(events, limit);
    if (now() - startedAtMs < BUDGET_MS) continue;

    const rest = { after: 0, upTo: stretch.after };
    const [next] = await readEvents(query, {}, rest, { order: 'newest first', limit: 1 });
    if (next === undefined) break;
    return { events, before: stretch.after + 1, searchedToMs: next.receivedAtMs };
  }
  return pageOf(events, limit);
}

/** The first of what was found; if there is more, another page follows. */
function pageOf(found: readonly EventRow[], limit: number): PageOfEvents {
  const events = found.slice(0, limit);
  const before = found.length > limit ? (events.at(-1)?.position ?? null) : null;
  return { events, before, searchedToMs: null };
}

/** Parked events, which an index finds; `null` where others are asked for, or they are too many. */
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

/** All of the log at once where an index finds the events, wherever they are. */
async function* stretchesOf(query: Query, filter: EventFilter, upTo: number) {
  const { customerId, outcome, ...others } = filter;
  const isIndexed = customerId !== undefined;
  const isEverything =
    outcome === undefined && Object.values(others).every((one) => one === undefined);
  if (isIndexed || isEverything) yield { after: 0, upTo };
  else yield* positionRangesBackwards(query, filter, upTo, STRETCH);
}
