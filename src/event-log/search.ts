import type { Query } from '../postgres/database.ts';
import {
  type EventFilter,
  type EventRow,
  type PositionRange,
  readEvents,
  readPositionRange,
  type SortOrder,
  wasReceivedSince,
} from '../queries/search-events.ts';

/** The number of events that one statement examines where no index helps. */
const RANGE = 50_000;

const PAGE = 200;

/** Greater than any position. */
export const END = Number.MAX_SAFE_INTEGER;

/** The position of the newest event; 0 when there is none. */
export async function readNewestPosition(query: Query): Promise<number> {
  return (await readPositionRange(query, END, 1))?.upTo ?? 0;
}

/** The matching events of the log up to a position, without those that arrive during the search. */
export async function* searchLog(
  query: Query,
  filter: EventFilter,
  order: SortOrder,
  upTo = END,
): AsyncGenerator<EventRow> {
  const ranges = rangesBackwards(query, filter, upTo, RANGE);
  for await (const range of order === 'newest first' ? ranges : reversed(ranges)) {
    yield* eventsWithin(query, filter, range, order);
  }
}

/**
 * The events with this id, the oldest first. No index has ids, so the log is searched backwards to
 * the first range that has one.
 */
export async function findEvents(query: Query, eventId: string): Promise<EventRow[]> {
  const filter = { eventId };
  for await (const range of rangesBackwards(query, filter, END, RANGE)) {
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
export async function* eventsWithin(
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

/**
 * The ranges of the log that can have matching events, the newest first. Positions follow the order
 * of arrival, so a range without any event since the given time ends the search.
 */
export async function* rangesBackwards(
  query: Query,
  { customerId, sinceMs }: EventFilter,
  upTo: number,
  size: number,
): AsyncGenerator<PositionRange> {
  let range = await readPositionRange(query, upTo, size);
  // An index has the events of a customer, wherever they are.
  if (range !== null && customerId !== undefined) yield { ...range, after: 0 };
  while (range !== null && customerId === undefined) {
    if (sinceMs !== undefined && !(await wasReceivedSince(query, range, sinceMs))) return;
    yield range;
    range = await readPositionRange(query, range.after, size);
  }
}

async function* reversed<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const all: Item[] = [];
  for await (const item of items) all.unshift(item);
  yield* all;
}
