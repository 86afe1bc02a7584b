import type { Query } from '../postgres/database.ts';
import {
  type EventFilter,
  type EventRow,
  type Order,
  type PositionRange,
  readEvents,
  readPositionRange,
  wasReceivedSince,
} from '../queries/search-events.ts';

/** So many events are looked at in one statement where no index knows what is asked for. */
const STRETCH = 50_000;

const PAGE = 200;

/** More than any position. */
const END = Number.MAX_SAFE_INTEGER;

/** The position of the newest event; 0 when there is none. */
export async function readNewestPosition(query: Query): Promise<number> {
  return (await readPositionRange(query, END, 1))?.upTo ?? 0;
}

/**
 * All events of the log that are so, up to a position, in this order of arrival. Those that come
 * meanwhile are not among them.
 */
export async function* searchLog(
  query: Query,
  filter: EventFilter,
  order: Order,
  upTo = END,
): AsyncGenerator<EventRow> {
  const stretches = positionRangesBackwards(query, filter, upTo, STRETCH);
  for await (const stretch of order === 'newest first' ? stretches : reversed(stretches)) {
    yield* eventsWithin(query, filter, stretch, order);
  }
}

/**
 * The events of this id, the oldest first. No index knows ids: the log is searched from its newest
 * event back, as far as the first stretch that has one.
 */
export async function findEvents(query: Query, eventId: string): Promise<EventRow[]> {
  const filter = { eventId };
  for await (const stretch of positionRangesBackwards(query, filter, END, STRETCH)) {
    const found = await readEvents(query, filter, stretch, { order: 'oldest first', limit: PAGE });
    if (found.length > 0) return found;
  }
  return [];
}

/** The event at this position, or `null`. */
export async function readEventAt(query: Query, position: number): Promise<EventRow | null> {
  const stretch = { after: position - 1, upTo: position };
  const [found] = await readEvents(query, {}, stretch, { order: 'oldest first', limit: 1 });
  return found ?? null;
}

/** Those of one stretch. */
export async function* eventsWithin(
  query: Query,
  filter: EventFilter,
  stretch: PositionRange,
  order: Order,
): AsyncGenerator<EventRow> {
  let rest = stretch;
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
 * The stretches of the log in which such events may be, the newest first. Positions are given in
 * the order of arrival, so a long stretch of which nothing was received since ends the search.
 */
export async function* positionRangesBackwards(
  query: Query,
  { customerId, sinceMs }: EventFilter,
  upTo: number,
  size: number,
): AsyncGenerator<PositionRange> {
  let stretch = await readPositionRange(query, upTo, size);
  // Of a customer the index knows the events, wherever they are.
  if (stretch !== null && customerId !== undefined) yield { ...stretch, after: 0 };
  while (stretch !== null && customerId === undefined) {
    if (sinceMs !== undefined && !(await wasReceivedSince(query, stretch, sinceMs))) return;
    yield stretch;
    stretch = await readPositionRange(query, stretch.after, size);
  }
}

async function* reversed<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const all: Item[] = [];
  for await (const item of items) all.unshift(item);
  yield* all;
}
