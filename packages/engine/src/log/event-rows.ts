// The statements that read the event log for people: its columns, its filter, and how positions and times are found
// without an index of their own. search.ts calls them, replay.ts, and operate/.

import type { Query } from '../postgres/database.ts';
import { LOGGED_EVENT_COLUMNS } from '../postgres/statements/events.ts';
import type { LoggedOutcome } from './log-event.ts';
import type { LoggedEvent } from './read-events.ts';

/** A logged event with the columns that people see. */
export type EventRow = LoggedEvent & {
  readonly subscriptionId: string | null;
  /** `null` for an unreadable event. */
  readonly createdAtMs: number | null;
  readonly deliveries: number;
};

/** The maximum number of parked events that are counted or examined one by one. */
export const MAX_COUNTED_PARKED = 10_000;

const EVENT_ROW = `
  ${LOGGED_EVENT_COLUMNS},
  subscription_id as "subscriptionId",
  (extract(epoch from created_at) * 1000)::bigint as "createdAtMs",
  deliveries`;

/** An event must match every given member. */
export type EventFilter = {
  readonly eventId?: string | undefined;
  /** What the event's id begins with. */
  readonly eventIdPrefix?: string | undefined;
  readonly customerId?: string | undefined;
  readonly customerIdPrefix?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly type?: string | undefined;
  readonly outcome?: LoggedOutcome | undefined;
  /** Received at this time or later, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
  /** Received before this time. */
  readonly untilMs?: number | undefined;
};

/** Positions after `after`, up to `upTo`. */
export type PositionRange = { readonly after: number; readonly upTo: number };

export type SortOrder = 'newest first' | 'oldest first';

/** Some events in an order, up to a limit. */
export type Page = { order: SortOrder; limit: number };

const DIRECTIONS = { 'newest first': 'desc', 'oldest first': 'asc' } as const;

/**
 * The first matching events of a position range, in this order of arrival. For a customer, the index
 * `events_of_customer` finds them; otherwise the whole range is examined.
 */
export async function readEvents(
  query: Query,
  filter: EventFilter,
  { after, upTo }: PositionRange,
  { order, limit }: Page,
): Promise<EventRow[]> {
  const matching = conditionsOf(filter, 4);
  return await query<EventRow>({
    name: 'read_events',
    text: `
      select ${EVENT_ROW}
        from instep.events
       where position > $1
         and position <= $2
         ${matching.sql}
       order by position ${DIRECTIONS[order]}
       limit $3`,
    values: [after, upTo, limit, ...matching.values],
  });
}

/** The positions of the parked events, the newest first; `null` when there are too many. */
export async function readParkedPositions(query: Query): Promise<number[] | null> {
  const rows = await query<{ position: number }>({
    name: 'read_parked_positions',
    // The order makes the planner use the index of the parked events.
    text: `
      select position
        from instep.events
       where outcome = 'parked'
       order by customer_id
       limit $1`,
    values: [MAX_COUNTED_PARKED + 1],
  });
  if (rows.length > MAX_COUNTED_PARKED) return null;
  return rows.map(({ position }) => position).sort((one, other) => other - one);
}

/** The first matching events at these positions, in this order. */
export async function readEventsAt(
  query: Query,
  filter: EventFilter,
  positions: readonly number[],
  { order, limit }: Page,
): Promise<EventRow[]> {
  const matching = conditionsOf(filter, 3);
  return await query<EventRow>({
    name: 'read_events_at',
    text: `
      select ${EVENT_ROW}
        from unnest($1::bigint[]) as wanted (position)
        join instep.events using (position)
       where true
         ${matching.sql}
       order by position ${DIRECTIONS[order]}
       limit $2`,
    values: [positions, limit, ...matching.values],
  });
}

/**
 * The given conditions only, because a plan for any combination would use no index. Event ids have none,
 * because it would cost every event a write to another random page, for a search that people make rarely.
 */
function conditionsOf(
  filter: EventFilter,
  firstParameter: number,
): { sql: string; values: unknown[] } {
  const { customerId, subscriptionId, type, outcome, sinceMs, untilMs } = filter;
  const conditions: readonly (readonly [condition: string, value: unknown])[] = [
    ['event_id = ?', filter.eventId],
    ['starts_with(event_id, ?)', filter.eventIdPrefix],
    ['customer_id = ?', customerId],
    ['starts_with(customer_id, ?)', filter.customerIdPrefix],
    ['subscription_id = ?', subscriptionId],
    ['type = ?', type],
    ['outcome = ?', outcome],
    ['received_at >= ?', sinceMs === undefined ? undefined : new Date(sinceMs)],
    ['received_at < ?', untilMs === undefined ? undefined : new Date(untilMs)],
  ];
  const given = conditions.filter(([, value]) => value !== undefined);
  return {
    sql: given
      .map(([condition], index) => `and ${condition.replace('?', `$${index + firstParameter}`)}`)
      .join(' '),
    values: given.map(([, value]) => value),
  };
}

/** The part of a range that holds its first events in this order, or those of a customer. */
type FirstPart = PositionRange & {
  /** Whether no events are left after it. */
  readonly isLast: boolean;
};

/**
 * The part of a range that holds its first events in this order, or those of a customer; `null` when there
 * are none.
 */
export async function readPositionRange(
  query: Query,
  { after, upTo }: PositionRange,
  { order, limit, customerId }: Page & Pick<EventFilter, 'customerId'>,
): Promise<FirstPart | null> {
  const ofCustomer = conditionsOf({ customerId }, 4);
  const [row] = await query<FirstPart | { upTo: null }>({
    name: 'read_position_range',
    text: `
      select min(position) - 1 as after, max(position) as "upTo", count(*) < $3 as "isLast"
        from (
               select position
                 from instep.events
                where position > $1
                  and position <= $2
                  ${ofCustomer.sql}
                order by position ${DIRECTIONS[order]}
                limit $3
             ) as first`,
    values: [after, upTo, limit, ...ofCustomer.values],
  });
  return row === undefined || row.upTo === null ? null : row;
}

/**
 * The first position of an event that was received at this time or later; `null` when there is none. Positions
 * follow the order of arrival, so this is a binary search.
 */
export async function readPositionSince(query: Query, sinceMs: number): Promise<number | null> {
  const [row] = await query<{ position: number }>({
    name: 'read_position_since',
    text: `
      with recursive search as (
        select min(position) as low, max(position) + 1 as high
          from instep.events
         union all
        select case when received_at < $1 then position + 1 else low end,
               case when received_at < $1 then high else middle end
          from search
         cross join lateral (select (low + high) / 2 as middle) as halves
         cross join lateral (
                 select position, received_at
                   from instep.events
                  where position >= middle
                  order by position
                  limit 1
               ) as event
         where low < high
      )
      select position
        from instep.events
       where position >= (select low from search where low >= high)
       order by position
       limit 1`,
    values: [new Date(sinceMs)],
  });
  return row?.position ?? null;
}
