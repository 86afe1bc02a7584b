import type { Query } from '../postgres/database.ts';
import { boundsOf, END, rangesOf } from './search.ts';
import {
  type EventFilter,
  type EventRow,
  type PositionRange,
  readEvents,
  readEventsAt,
  readParkedPositions,
  readPositionRange,
  type SortOrder,
} from './search-events.ts';

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
const RANGE = 5_000;

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
    const { events, reached } = await search(query, request, 'oldest first', { after, upTo: END });
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
  const { events, reached } = await search(query, request, 'newest first', within);
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

async function search(
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
  return customerId === undefined ? RANGE : RANGE_OF_CUSTOMER;
}
