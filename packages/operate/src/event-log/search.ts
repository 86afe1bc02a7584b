// Searches the event log, which has an index for customers, times and parked events only: whole or by page. Every statement
// examines some events, so that none takes long. operate/events.ts calls it.

import {
  EVENT_ROW,
  type EventRow,
  type LoggedOutcome,
  readEventsAt,
  readPositionSince,
  type SortOrder,
} from 'instep-engine/log';
import { type Examined, pagesOf, type Query, rowsOf } from 'instep-engine/postgres';
import { type PageEnds, type PageStart, readPage } from '../runtime/pages.ts';

/** An event must match every given member. */
export type EventFilter = {
  readonly eventId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly outcome?: LoggedOutcome | undefined;
  /** Received at this time or later, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
  /** Received before this time. */
  readonly untilMs?: number | undefined;
};

/** The number of events that one statement examines, within a few milliseconds. */
const EXAMINED = 5_000;

const PAGE = 200;

type ReadPart = (
  from: number | null,
  order: SortOrder,
  limit: number,
) => Promise<Examined<EventRow, number>>;

/** Reads the matching events beyond a position, in an order: as many as are found among the next ones. */
async function openSearch(query: Query, filter: EventFilter): Promise<ReadPart> {
  const { eventId, customerId, subscriptionId, outcome, sinceMs, untilMs } = filter;
  const { first, end } = await boundsOf(query, filter);
  // Ids of events have no index, because it would cost every event a write to another random page.
  const isRare = [eventId, subscriptionId, outcome, sinceMs, untilMs].some(
    (one) => one !== undefined,
  );
  const values = [eventId, subscriptionId, outcome, toDate(sinceMs), toDate(untilMs), customerId];
  return async (from, order, limit) => {
    const isNewestFirst = order === 'newest first';
    const direction = isNewestFirst ? 'desc' : 'asc';
    const examined = isRare ? EXAMINED : limit;
    const rows = await query<FoundRow>({
      name: 'search_events',
      text: `
      with examined as materialized (
        select position, event_id, subscription_id, outcome, received_at
          from instep.events
         where position > $1
           and position < $2
           ${customerId === undefined ? 'and $9::text is null' : 'and customer_id = $9' /* its index */}
           ${outcome === 'parked' ? "and outcome = 'parked'" : ''}
         order by position ${direction}
         limit ${examined}
      ), found as (
        select ${EVENT_ROW}
          from (
                 select position
                   from examined
                  where ($4::text is null or event_id = $4)
                    and ($5::text is null or subscription_id = $5)
                    and ($6::text is null or outcome = $6)
                    and ($7::timestamptz is null or received_at >= $7)
                    and ($8::timestamptz is null or received_at < $8)
                  order by position ${direction}
                  limit $3
               ) as matching
          join instep.events using (position)
      )
      select found.*, reached.position as "examinedTo"
        from (
               select (
                        select position
                          from examined
                         order by position ${direction}
                        offset ${examined - 1}
                      ) as position
             ) as reached
        left join found on true
       order by found.position ${direction}`,
      values: [
        isNewestFirst ? first - 1 : Math.max(first - 1, from ?? 0),
        isNewestFirst ? Math.min(end, from ?? end) : end,
        limit,
        ...values.map((value) => value ?? null),
      ],
    });
    return {
      found: rows.flatMap(({ examinedTo: _, ...event }) => (event.position === null ? [] : event)),
      examinedTo: rows[0]?.examinedTo ?? null,
    };
  };
}

/** How far the statement has come, with an event that it has found, if any. */
type FoundRow = { readonly examinedTo: number | null } & (EventRow | { readonly position: null });

const toDate = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms));

/** Greater than any position. */
const END = Number.MAX_SAFE_INTEGER;

/**
 * How far times can deviate from the order of positions: clocks of instances differ, and an event gets its
 * position when it is written.
 */
const DISORDER_MS = 60_000;

/** The part of the log that can have events of the filter's time: from the first position on, before the end. */
async function boundsOf(query: Query, { sinceMs, untilMs }: EventFilter) {
  const [first, end] = await Promise.all([
    sinceMs === undefined ? 1 : readPositionSince(query, sinceMs - DISORDER_MS),
    untilMs === undefined ? END : readPositionSince(query, untilMs + DISORDER_MS),
  ]);
  return { first: first ?? END, end: end ?? END };
}

/** All matching events. */
export async function* searchLog(
  query: Query,
  filter: EventFilter,
  order: SortOrder,
): AsyncGenerator<EventRow> {
  const read = await openSearch(query, filter);
  yield* rowsOf<EventRow, number>(async (after) => {
    const { found, examinedTo } = await read(after, order, PAGE);
    // A full page can have left out events of what was examined.
    const last = found.length < PAGE ? examinedTo : (found.at(-1)?.position ?? null);
    return { found, examinedTo: last };
  });
}

/** The events with this id, oldest first: the log is searched backward until a part of it has one. */
export async function readEventsWithId(query: Query, eventId: string): Promise<EventRow[]> {
  const read = await openSearch(query, { eventId });
  const parts = pagesOf<EventRow, number>((after) => read(after, 'newest first', PAGE));
  for await (const found of parts) if (found.length > 0) return found.toReversed();
  return [];
}

export async function readEventAt(query: Query, position: number): Promise<EventRow | null> {
  if (!Number.isSafeInteger(position)) return null;
  return (await readEventsAt(query, [position]))[0] ?? null;
}

/** A page of search results, the newest event first. Its ends are positions. */
export type PageOfEvents = PageEnds<number> & {
  readonly events: readonly EventRow[];
  /** When the event was received that the search has reached; `null` unless time ran out. */
  readonly searchedToMs: number | null;
};

type EventsPage = {
  readonly filter: EventFilter;
  readonly start: PageStart<number> | null;
  readonly limit: number;
  readonly clockMs: () => number;
};

/**
 * Searches the log for a page of events, part by part until time runs out; then the next page continues there. Pages begin at
 * positions, so they don't shift while events arrive.
 */
export async function readPageOfEvents(
  query: Query,
  { filter, ...request }: EventsPage,
): Promise<PageOfEvents> {
  const read = await openSearch(query, filter);
  const { found: events, ...ends } = await readPage<EventRow, number>({
    ...request,
    keyOf: ({ position }) => position,
    read: (from, isBackwards, limit) =>
      read(from, isBackwards ? 'oldest first' : 'newest first', limit),
  });
  const { searchedTo } = ends;
  const reached = searchedTo === null ? null : await readEventAt(query, searchedTo);
  return { events, ...ends, searchedToMs: reached?.receivedAtMs ?? null };
}
