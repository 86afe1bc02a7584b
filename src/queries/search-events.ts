import type { LoggedEvent, LoggedOutcome } from '../core/logged-event.ts';
import type { Query } from '../postgres/database.ts';
import { MAX_COUNTED_PARKED } from './health.ts';

/** An event as the log shows it to a person. */
export type EventRow = LoggedEvent & {
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
  /** `null` for one that was unreadable. */
  readonly createdAtMs: number | null;
  readonly deliveries: number;
};

/** Of all that is named, an event must be so. */
export type EventFilter = {
  readonly eventId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly type?: string | undefined;
  readonly outcome?: LoggedOutcome | undefined;
  /** Received then or later, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
};

/** Positions after `after`, up to `upTo`. */
export type PositionRange = { readonly after: number; readonly upTo: number };

export type Order = 'newest first' | 'oldest first';

type EventTableRow = {
  position: number;
  key: string;
  event_id: string | null;
  type: string;
  customer_id: string | null;
  subscription_id: string | null;
  created_at: Date | null;
  received_at: Date;
  deliveries: number;
  outcome: LoggedOutcome;
  body: Buffer;
};

/**
 * The first events of a stretch of the log that are so, in this order of arrival. With a customer
 * the index `events_of_customer` finds them; otherwise the primary key finds the stretch, and all
 * of it is looked at.
 */
export async function readEvents(
  query: Query,
  filter: EventFilter,
  { after, upTo }: PositionRange,
  { order, limit }: { readonly order: Order; readonly limit: number },
): Promise<EventRow[]> {
  const asked = conditionsOf(filter, 4);
  const rows = await query<EventTableRow>(
    `select position, key, event_id, type, customer_id, subscription_id, created_at,
            received_at, deliveries, outcome, body
       from instep.events
      where position > $1
        and position <= $2
        ${asked.sql}
      order by position ${order === 'newest first' ? 'desc' : 'asc'}
      limit $3`,
    [after, upTo, limit, ...asked.values],
  );
  return rows.map(toEventRow);
}

/** The positions of the parked events, the newest first; `null` when they are too many. */
export async function readParkedPositions(query: Query): Promise<number[] | null> {
  // In another order the planner might go through the log for what the index of the parked ones has.
  const rows = await query<{ position: number }>(
    `select position
       from instep.events
      where outcome = 'parked'
      order by customer_id
      limit $1`,
    [MAX_COUNTED_PARKED + 1],
  );
  if (rows.length > MAX_COUNTED_PARKED) return null;
  return rows.map(({ position }) => position).sort((one, other) => other - one);
}

/** Of the events at these positions those that are so, the newest first. */
export async function readEventsAt(
  query: Query,
  filter: EventFilter,
  positions: readonly number[],
  limit: number,
): Promise<EventRow[]> {
  const asked = conditionsOf(filter, 3);
  const rows = await query<EventTableRow>(
    `select position, key, event_id, type, customer_id, subscription_id, created_at,
            received_at, deliveries, outcome, body
       from unnest($1::bigint[]) as wanted (position)
       join instep.events using (position)
      where true
        ${asked.sql}
      order by position desc
      limit $2`,
    [positions, limit, ...asked.values],
  );
  return rows.map(toEventRow);
}

/** How many events after a position are so; it counts no further than to the limit. */
export async function countEvents(
  query: Query,
  filter: EventFilter,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<number> {
  const asked = conditionsOf(filter, 3);
  const [row] = await query<{ count: number }>(
    `select count(*) as count
       from (select position
               from instep.events
              where position > $1
                ${asked.sql}
              limit $2) as found`,
    [after, limit, ...asked.values],
  );
  return row?.count ?? 0;
}

/** Only what is asked for: a plan that must do for whatever is asked for uses no index. */
function conditionsOf(
  { eventId, customerId, type, outcome, sinceMs }: EventFilter,
  firstParameter: number,
): { sql: string; values: unknown[] } {
  const conditions: readonly (readonly [condition: string, value: unknown])[] = [
    ['event_id =', eventId],
    ['customer_id =', customerId],
    ['type =', type],
    ['outcome =', outcome],
    ['received_at >=', sinceMs === undefined ? undefined : new Date(sinceMs)],
  ];
  const asked = conditions.filter(([, value]) => value !== undefined);
  return {
    sql: asked.map(([condition], index) => `and ${condition} $${index + firstParameter}`).join(' '),
    values: asked.map(([, value]) => value),
  };
}

/** The last so many events up to a position, wherever they are; `null` when there is none. */
export async function readPositionRange(
  query: Query,
  upTo: number,
  limit: number,
): Promise<PositionRange | null> {
  const [row] = await query<{ oldest: number | null; newest: number | null }>(
    `select min(position) as oldest, max(position) as newest
       from (select position
               from instep.events
              where position <= $1
              order by position desc
              limit $2) as last`,
    [upTo, limit],
  );
  if (row === undefined || row.oldest === null || row.newest === null) return null;
  return { after: row.oldest - 1, upTo: row.newest };
}

/** Whether anything in a stretch of the log was received then or later. */
export async function wasReceivedSince(
  query: Query,
  { after, upTo }: PositionRange,
  sinceMs: number,
): Promise<boolean> {
  const rows = await query(
    `select position
       from instep.events
      where position > $1
        and position <= $2
        and received_at >= $3
      order by position desc
      limit 1`,
    [after, upTo, new Date(sinceMs)],
  );
  return rows.length > 0;
}

/** The positions in a stretch of the log, the oldest first. */
export async function readPositions(
  query: Query,
  { after, upTo }: PositionRange,
): Promise<number[]> {
  const rows = await query<{ position: number }>(
    `select position
       from instep.events
      where position > $1
        and position <= $2
      order by position`,
    [after, upTo],
  );
  return rows.map(({ position }) => position);
}

function toEventRow(row: EventTableRow): EventRow {
  return {
    position: row.position,
    key: row.key,
    eventId: row.event_id,
    type: row.type,
    customerId: row.customer_id,
    subscriptionId: row.subscription_id,
    createdAtMs: row.created_at?.getTime() ?? null,
    receivedAtMs: row.received_at.getTime(),
    deliveries: row.deliveries,
    outcome: row.outcome,
    body: row.body,
  };
}
