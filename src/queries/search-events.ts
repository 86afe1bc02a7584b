import type { LoggedEvent, LoggedOutcome } from '../core/logged-event.ts';
import type { Query } from '../postgres/database.ts';
import { LOGGED_EVENT } from './events.ts';
import { MAX_COUNTED_PARKED } from './health.ts';

/** An event as people see it in the log. */
export type EventRow = LoggedEvent & {
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
  /** `null` for one that was unreadable. */
  readonly createdAtMs: number | null;
  readonly deliveries: number;
};

const EVENT_ROW = `
  ${LOGGED_EVENT},
  customer_id as "customerId",
  subscription_id as "subscriptionId",
  (extract(epoch from created_at) * 1000)::bigint as "createdAtMs",
  deliveries`;

/** An event matches when it matches every member that is given. */
export type EventFilter = {
  readonly eventId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly type?: string | undefined;
  readonly outcome?: LoggedOutcome | undefined;
  /** Received then or later, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
};

/** Positions after `after`, up to `upTo`. */
export type PositionRange = { readonly after: number; readonly upTo: number };

export type SortOrder = 'newest first' | 'oldest first';

/**
 * The first matching events of a position range, in this order of arrival. With a customer the
 * index `events_of_customer` finds them; otherwise the whole range is examined.
 */
export async function readEvents(
  query: Query,
  filter: EventFilter,
  { after, upTo }: PositionRange,
  { order, limit }: { readonly order: SortOrder; readonly limit: number },
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
       order by position ${order === 'newest first' ? 'desc' : 'asc'}
       limit $3`,
    values: [after, upTo, limit, ...matching.values],
  });
}

/** The positions of the parked events, the newest first; `null` when they are too many. */
export async function readParkedPositions(query: Query): Promise<number[] | null> {
  const rows = await query<{ position: number }>({
    name: 'read_parked_positions',
    // The order keeps the planner on the index of the parked events.
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

/** The matching events at these positions, the newest first. */
export async function readEventsAt(
  query: Query,
  filter: EventFilter,
  positions: readonly number[],
  limit: number,
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
       order by position desc
       limit $2`,
    values: [positions, limit, ...matching.values],
  });
}

/** How many events after a position match; the count ends at the limit. */
export async function countEvents(
  query: Query,
  filter: EventFilter,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<number> {
  const matching = conditionsOf(filter, 3);
  const [row] = await query<{ count: number }>({
    name: 'count_events',
    text: `
      select count(*) as count
        from (
               select position
                 from instep.events
                where position > $1
                  ${matching.sql}
                limit $2
             ) as found`,
    values: [after, limit, ...matching.values],
  });
  return row?.count ?? 0;
}

/** Only the conditions that are given: a plan that serves any combination uses no index. */
function conditionsOf(
  { eventId, customerId, subscriptionId, type, outcome, sinceMs }: EventFilter,
  firstParameter: number,
): { sql: string; values: unknown[] } {
  const conditions: readonly (readonly [condition: string, value: unknown])[] = [
    ['event_id =', eventId],
    ['customer_id =', customerId],
    ['subscription_id =', subscriptionId],
    ['type =', type],
    ['outcome =', outcome],
    ['received_at >=', sinceMs === undefined ? undefined : new Date(sinceMs)],
  ];
  const given = conditions.filter(([, value]) => value !== undefined);
  return {
    sql: given.map(([condition], index) => `and ${condition} $${index + firstParameter}`).join(' '),
    values: given.map(([, value]) => value),
  };
}

/** The range of the last events up to a position, this many; `null` when there is none. */
export async function readPositionRange(
  query: Query,
  upTo: number,
  limit: number,
): Promise<PositionRange | null> {
  const [row] = await query<PositionRange | { upTo: null }>({
    name: 'read_position_range',
    text: `
      select min(position) - 1 as after, max(position) as "upTo"
        from (
               select position
                 from instep.events
                where position <= $1
                order by position desc
                limit $2
             ) as last`,
    values: [upTo, limit],
  });
  return row === undefined || row.upTo === null ? null : row;
}

/** Whether any event of a position range was received then or later. */
export async function wasReceivedSince(
  query: Query,
  { after, upTo }: PositionRange,
  sinceMs: number,
): Promise<boolean> {
  const rows = await query({
    name: 'was_received_since',
    text: `
      select position
        from instep.events
       where position > $1
         and position <= $2
         and received_at >= $3
       order by position desc
       limit 1`,
    values: [after, upTo, new Date(sinceMs)],
  });
  return rows.length > 0;
}

/** The positions in a range, the oldest first. */
export async function readPositions(
  query: Query,
  { after, upTo }: PositionRange,
): Promise<number[]> {
  const rows = await query<{ position: number }>({
    name: 'read_positions',
    text: `
      select position
        from instep.events
       where position > $1
         and position <= $2
       order by position`,
    values: [after, upTo],
  });
  return rows.map(({ position }) => position);
}
