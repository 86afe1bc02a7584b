import type { Query } from '../postgres/database.ts';
import { pause } from '../runtime/retry.ts';
import {
  type EventFilter,
  type EventRow,
  type PositionRange,
  readEvents,
  readEventsAt,
  readParkedPositions,
  readPositionRange,
  readPositionSince,
  readPositions,
  type SortOrder,
} from './event-rows.ts';

/** The number of events that one statement examines where no index helps. */
const RANGE = 50_000;

const PAGE = 200;

/** Greater than any position. */
const END = Number.MAX_SAFE_INTEGER;

const WHOLE_LOG: PositionRange = { after: 0, upTo: END };

/** The position of the newest event; 0 when there is none. */
export async function readNewestPosition(query: Query): Promise<number> {
  const newest = { order: 'newest first', limit: 1 } as const;
  return (await readPositionRange(query, WHOLE_LOG, newest))?.upTo ?? 0;
}

/** The matching events of the log up to a position, by default the newest one when the search begins. */
export async function* searchLog(
  query: Query,
  filter: EventFilter,
  order: SortOrder,
  upTo?: number,
): AsyncGenerator<EventRow> {
  const within = { after: 0, upTo: upTo ?? (await readNewestPosition(query)) };
  const bounds = await boundsOf(query, filter, within);
  for await (const range of rangesOf(query, filter, bounds, { order, size: RANGE })) {
    yield* eventsWithin(query, filter, range, order);
  }
}

/**
 * The events with this id, oldest first. No index covers ids, so the log is searched backward until a range
 * has one.
 */
export async function findEvents(query: Query, eventId: string): Promise<EventRow[]> {
  const filter = { eventId };
  const backward = { order: 'newest first', size: RANGE } as const;
  for await (const range of rangesOf(query, filter, WHOLE_LOG, backward)) {
    const found = await readEvents(query, filter, range, { order: 'oldest first', limit: PAGE });
    if (found.length > 0) return found;
  }
  return [];
}

export async function readEventAt(query: Query, position: number): Promise<EventRow | null> {
  const range = { after: position - 1, upTo: position };
  const [found] = await readEvents(query, {}, range, { order: 'oldest first', limit: 1 });
  return found ?? null;
}

/** The matching events of a range, read page by page. */
async function* eventsWithin(
  query: Query,
  filter: EventFilter,
  range: PositionRange,
  order: SortOrder,
): AsyncGenerator<EventRow> {
  let rest = range;
  for (;;) {
    const page = await readEvents(query, filter, rest, { order, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    rest =
      order === 'newest first'
        ? { ...rest, upTo: last.position - 1 }
        : { ...rest, after: last.position };
  }
}

type RangesOptions = {
  order: SortOrder;
  /** The maximum number of events in a range; of the customer's events, if the filter has a customer. */
  size: number;
};

/** The parts of a range that can have matching events. Events of a customer have an index. */
async function* rangesOf(
  query: Query,
  { customerId }: EventFilter,
  bounds: PositionRange,
  { order, size }: RangesOptions,
): AsyncGenerator<PositionRange> {
  for (let rest = bounds; ; ) {
    const range = await readPositionRange(query, rest, { order, limit: size, customerId });
    if (range === null) return;
    yield range;
    rest =
      order === 'newest first' ? { ...rest, upTo: range.after } : { ...rest, after: range.upTo };
  }
}

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

type TailOptions = {
  /** Follows the events after this position. */
  after: number;
  clockMs: () => number;
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

/** A page of search results, the newest event first. */
export type PageOfEvents = {
  readonly events: readonly EventRow[];
  /** The next page begins before this position; `null` on the last page. */
  readonly before: number | null;
  /** The previous page ends after this position; `null` on the first page. */
  readonly after: number | null;
  /** Set when time ran out before the page was full: the search has reached this time. */
  readonly searchedToMs: number | null;
};

type PageRequest = {
  filter: EventFilter;
  before: number | null;
  after?: number | null;
  limit: number;
  clockMs: () => number;
};

/** After this time, the search returns what it has found. */
const BUDGET_MS = 30;

/** The number of events that one statement examines, within a few milliseconds. */
const RANGE_OF_PAGE = 5_000;

/** The same for a customer's events, which are on separate pages of the table, and for a search in bodies. */
const RANGE_OF_CUSTOMER = 1_000;
const RANGE_OF_BODIES = 500;

/**
 * Searches the log for a page of events. Where no index helps, it examines one range after another until time
 * runs out, and the next page continues there. Pages begin at positions, so they don't shift while events
 * arrive.
 */
export async function readPageOfEvents(query: Query, request: PageRequest): Promise<PageOfEvents> {
  const { before, after = null, limit } = request;
  if (after !== null) {
    const { events, reached } = await searchPage(query, request, 'oldest first', {
      after,
      upTo: END,
    });
    const isFull = events.length > limit;
    // Return the full newest page instead of a partial one.
    if (!isFull && reached === null) {
      return await readPageOfEvents(query, { ...request, before: null, after: null });
    }
    const page = events.slice(0, limit).reverse();
    return {
      events: page,
      before: page.at(-1)?.position ?? after + 1,
      after: isFull ? (page[0]?.position ?? null) : (reached?.position ?? null),
      searchedToMs: reached?.receivedAtMs ?? null,
    };
  }
  const within = { after: 0, upTo: before === null ? END : before - 1 };
  const { events, reached } = await searchPage(query, request, 'newest first', within);
  const page = events.slice(0, limit);
  const last = events.length > limit ? page.at(-1) : reached;
  return {
    events: page,
    before: last?.position ?? null,
    after: before === null ? null : (page[0]?.position ?? before - 1),
    searchedToMs: reached?.receivedAtMs ?? null,
  };
}

type Found = {
  /** One more than the page has, if there is one. */
  events: readonly EventRow[];
  /** The last event that was examined when time ran out. */
  reached: Pick<EventRow, 'position' | 'receivedAtMs'> | null;
};

async function searchPage(
  query: Query,
  { filter, limit, clockMs }: PageRequest,
  order: SortOrder,
  within: PositionRange,
): Promise<Found> {
  const startedAtMs = clockMs();
  const parked = await searchParked(query, filter, within, { order, limit: limit + 1 });
  if (parked !== null) return { events: parked, reached: null };
  const bounds = await boundsOf(query, filter, within);
  const events: EventRow[] = [];
  for await (const range of pageRangesOf(query, filter, bounds, order)) {
    const wanted = { order, limit: limit + 1 - events.length };
    events.push(...(await readEvents(query, filter, range, wanted)));
    if (events.length > limit) break;
    if (clockMs() - startedAtMs < BUDGET_MS) continue;
    const { customerId } = filter;
    return { events, reached: await readReached(query, range, { order, customerId }, bounds) };
  }
  return { events, reached: null };
}

/** The last event of a range in this order; `null` when nothing is left to search after it. */
async function readReached(
  query: Query,
  range: PositionRange,
  { order, customerId }: { order: SortOrder } & Pick<EventFilter, 'customerId'>,
  bounds: PositionRange,
) {
  const rest =
    order === 'newest first' ? { ...bounds, upTo: range.after } : { ...bounds, after: range.upTo };
  const left = await readPositionRange(query, rest, { order, limit: 1, customerId });
  if (left === null) return null;
  const backward = order === 'newest first' ? 'oldest first' : 'newest first';
  const [last] = await readEvents(query, {}, range, { order: backward, limit: 1 });
  return last ?? null;
}

/** The parked events, from their index; `null` for another search, or when there are too many. */
async function searchParked(
  query: Query,
  { outcome, ...others }: EventFilter,
  { after, upTo }: PositionRange,
  page: { order: SortOrder; limit: number },
): Promise<EventRow[] | null> {
  if (outcome !== 'parked' || others.customerId !== undefined) return null;
  const positions = await readParkedPositions(query);
  if (positions === null) return null;
  const wanted = positions.filter((position) => position > after && position <= upTo);
  return await readEventsAt(query, { outcome, ...others }, wanted, page);
}

/** One range with all events of the filter's period and customer, if the filter has no other condition. */
async function* pageRangesOf(
  query: Query,
  filter: EventFilter,
  bounds: PositionRange,
  order: SortOrder,
) {
  const { sinceMs: _, untilMs: __, customerId: ___, ...others } = filter;
  const isEverything = Object.values(others).every((one) => one === undefined);
  if (isEverything) yield bounds;
  else yield* rangesOf(query, filter, bounds, { order, size: sizeOf(filter) });
}

function sizeOf({ customerId, invoiceId }: EventFilter): number {
  if (invoiceId !== undefined) return RANGE_OF_BODIES;
  return customerId === undefined ? RANGE_OF_PAGE : RANGE_OF_CUSTOMER;
}
