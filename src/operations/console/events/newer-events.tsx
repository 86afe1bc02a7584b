import type { Query } from '../../../postgres/database.ts';
import { countEvents, type EventFilter } from '../../../queries/search-events.ts';
import { type FilterFields, filterUrl } from './event-filter.ts';

/**
 * What a page of events knows of those that come after it. A position is given out a moment before
 * its event is committed, so some of those that are still to come have smaller ones.
 */
export type SeenEvents = { readonly after: number; readonly count: number };

/** So far before the newest event those are looked for that are committed late. */
const LATE = 1_000;

/** More are not counted. */
const MAX_COUNTED = 1_000;

/** What is there now, so that it is known later what has come. */
export async function readKnown(
  query: Query,
  filter: EventFilter,
  newest: number,
): Promise<SeenEvents> {
  const after = Math.max(0, newest - LATE);
  return { after, count: await countEvents(query, filter, { after, limit: LATE + MAX_COUNTED }) };
}

export type NewerEventsProps = {
  readonly fields: FilterFields;
  readonly known: SeenEvents;
  /** How many have come since. */
  readonly newer: number;
};

/** How many have come since. Rows never move under the reader's eyes: a link shows what is new. */
export async function countNewer(
  query: Query,
  filter: EventFilter,
  known: SeenEvents,
): Promise<number> {
  const { after, count } = known;
  return (await countEvents(query, filter, { after, limit: LATE + 2 * MAX_COUNTED })) - count;
}

/** Asks again every few seconds, and tells how many events have come. */
export function NewerEvents({ fields, known, newer }: NewerEventsProps) {
  const count = newer >= MAX_COUNTED ? '1,000 or more' : newer.toLocaleString('en');
  return (
    <p
      id="newer"
      class="newer"
      role="status"
      hx-get={filterUrl('/events/newer', fields, known)}
      hx-trigger="every 5s"
      hx-swap="outerHTML"
    >
      {newer > 0 && (
        <a href={filterUrl('/events', fields)}>
          {count} newer {newer === 1 ? 'event' : 'events'}
        </a>
      )}
    </p>
  );
}
