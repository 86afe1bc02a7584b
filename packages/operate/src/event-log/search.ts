// Searches the event log, which has an index for customers only: whole or by page. It examines ranges of
// positions, so that no statement takes long. operate/events.ts calls it.

import {
  type EventFilter,
  type EventRow,
  type Page,
  type PositionRange,
  readEvents,
  readEventsAt,
  readParkedPositions,
  readPositionRange,
  readPositionSince,
  type SortOrder,
} from 'instep-engine/log';
import { type Examined, pagesOf, type Query, rowsOf } from 'instep-engine/postgres';
import { type PageEnds, type PageStart, readPage } from '../runtime/pages.ts';

/** The number of events that one statement examines where no index helps, within a few milliseconds. */
const RANGE = 5_000;

/** The same for a customer's events, which are on separate pages of the table. */
const RANGE_OF_CUSTOMER = 1_000;

const PAGE = 200;

/** Greater than any position. */
const END = Number.MAX_SAFE_INTEGER;

const WHOLE_LOG: PositionRange = { after: 0, upTo: END };

/** The position of the newest event; 0 when there is none. */
async function readNewestPosition(query: Query): Promise<number> {
  const newest = { order: 'newest first', limit: 1 } as const;
  return (await readPositionRange(query, WHOLE_LOG, newest))?.upTo ?? 0;
}

/** The matching events of the log up to the newest one when the search begins. */
export async function* searchLog(
  query: Query,
  filter: EventFilter,
  order: SortOrder,
): AsyncGenerator<EventRow> {
  const within = { after: 0, upTo: await readNewestPosition(query) };
  const read = await openSearch(query, filter, within);
  yield* rowsOf<EventRow, number>(async (after) => {
    const { found, examinedTo } = await read(after, { order, limit: PAGE });
    // A full page can have left out events of what was examined.
    const last = found.length < PAGE ? examinedTo : (found.at(-1)?.position ?? null);
    return { found, examinedTo: last };
  });
}

/**
 * The events with this id, oldest first. No index covers ids, so the log is searched backward until a range
 * has one.
 */
export async function readEventsWithId(query: Query, eventId: string): Promise<EventRow[]> {
  const read = await openSearch(query, { eventId }, WHOLE_LOG);
  const page = { order: 'newest first', limit: PAGE } as const;
  for await (const found of pagesOf<EventRow, number>((after) => read(after, page))) {
    if (found.length > 0) return [...found].reverse();
  }
  return [];
}

export async function readEventAt(query: Query, position: number): Promise<EventRow | null> {
  const page = { order: 'newest first', limit: 1 } as const;
  return (await readEventsAt(query, {}, [position], page))[0] ?? null;
}

/**
 * Reads matching events within a range, beyond a position in the order of the page, and up to its limit. Where no index
 * helps, it examines one part of what is left, and says how far it has come.
 */
async function openSearch(
  query: Query,
  filter: EventFilter,
  within: PositionRange,
): Promise<(from: number | null, page: Page) => Promise<Examined<EventRow, number>>> {
  const { customerId, outcome } = filter;
  // From their index; `null` for another search, or when there are too many.
  const parked =
    outcome === 'parked' && customerId === undefined ? await readParkedPositions(query) : null;
  const bounds = parked === null ? await boundsOf(query, filter, within) : within;
  const isWhole = isOnlyBounded(filter);
  const size = customerId === undefined ? RANGE : RANGE_OF_CUSTOMER;
  return async (from, page) => {
    const { order } = page;
    const rest = from === null ? bounds : beyond(bounds, from, order);
    if (parked !== null) {
      const positions = parked.filter((one) => one > rest.after && one <= rest.upTo);
      return { found: await readEventsAt(query, filter, positions, page), examinedTo: null };
    }
    const range = isWhole
      ? { ...rest, isLast: true }
      : await readPositionRange(query, rest, { order, limit: size, customerId });
    if (range === null) return { found: [], examinedTo: null };
    const found = await readEvents(query, filter, range, page);
    return { found, examinedTo: range.isLast ? null : lastOf(range, order) };
  };
}

/** What is left of a range after an event, in this order. */
const beyond = (range: PositionRange, position: number, order: SortOrder): PositionRange =>
  order === 'newest first'
    ? { ...range, upTo: Math.min(range.upTo, position - 1) }
    : { ...range, after: Math.max(range.after, position) };

/** The last position of a range in this order. */
const lastOf = ({ after, upTo }: PositionRange, order: SortOrder) =>
  order === 'newest first' ? after + 1 : upTo;

/**
 * How far times can deviate from the order of positions: clocks of instances differ, and an event gets its
 * position when it is written.
 */
const DISORDER_MS = 60_000;

/** The part of a range that can have events of the filter's time. */
async function boundsOf(
  query: Query,
  { sinceMs, untilMs }: EventFilter,
  { after, upTo }: PositionRange,
): Promise<PositionRange> {
  const [first, end] = await Promise.all([
    sinceMs === undefined ? 0 : readPositionSince(query, sinceMs - DISORDER_MS),
    untilMs === undefined ? null : readPositionSince(query, untilMs + DISORDER_MS),
  ]);
  return {
    after: Math.max(after, (first ?? END) - 1),
    upTo: Math.min(upTo, (end ?? END) - 1),
  };
}

/** A page of search results, the newest event first. Its ends are positions. */
export type PageOfEvents = PageEnds<number> & {
  readonly events: readonly EventRow[];
  /** When the event was received that the search has reached; `null` unless time ran out. */
  readonly searchedToMs: number | null;
};

type EventsPage = {
  filter: EventFilter;
  start: PageStart<number> | null;
  limit: number;
  clockMs: () => number;
};

/**
 * Searches the log for a page of events. Where no index helps, it examines one range after another until time
 * runs out, and the next page continues there. Pages begin at positions, so they don't shift while events
 * arrive.
 */
export async function readPageOfEvents(
  query: Query,
  { filter, ...request }: EventsPage,
): Promise<PageOfEvents> {
  const read = await openSearch(query, filter, WHOLE_LOG);
  const { found: events, ...ends } = await readPage<EventRow, number>({
    ...request,
    keyOf: ({ position }) => position,
    read: (from, isBackwards, limit) =>
      read(from, { order: isBackwards ? 'oldest first' : 'newest first', limit }),
  });
  const { searchedTo } = ends;
  const reached = searchedTo === null ? null : await readEventAt(query, searchedTo);
  return { events, ...ends, searchedToMs: reached?.receivedAtMs ?? null };
}

/** Whether all events of the filter's period and customer match. */
function isOnlyBounded(filter: EventFilter): boolean {
  const { sinceMs: _, untilMs: __, customerId: ___, ...others } = filter;
  return Object.values(others).every((one) => one === undefined);
}
