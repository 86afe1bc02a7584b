// The event log, `instep.events`, as processing needs it; people read it through event-log/. `rowsAs` makes rows of
// parameters, one or many (statement.ts).

import type { KeyRange } from '../../core/event-key-layout.ts';
import type {
  LoggedEvent,
  LoggedOutcome,
  SubscriptionState,
} from '../../core/subscription-event.ts';
import type { Query } from '../database.ts';
import {
  columnArrays,
  parametersOf,
  type RowCount,
  rowsAs,
  textsByRowCount,
} from '../statement.ts';

/** An event as it is written to the log. */
export type LogEntry = {
  /** That of an event that is parked in the log; `null` assigns the next one. */
  readonly position: number | null;
  readonly key: string;
  readonly eventId: string | null;
  readonly type: string;
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
  readonly createdSeconds: number | null;
  readonly receivedAtMs: number;
  readonly outcome: LoggedOutcome;
  readonly body: Uint8Array;
  /** How often Stripe delivered it in this batch; 0 for a replayed event or a snapshot. */
  readonly deliveries: number;
};

/** The maximum number of events that are read before and after an event. */
const MAX_EVENTS = 100;

/** The columns of a `LoggedEvent`. */
export const LOGGED_EVENT_COLUMNS = `
  position,
  key,
  event_id as "eventId",
  type,
  outcome,
  (extract(epoch from received_at) * 1000)::bigint as "receivedAtMs",
  body`;

const RANGE_COLUMNS = { low: 'uuid', high: 'uuid' };

/**
 * The events of these ranges, as `event`. A range yields up to 1,000 events, more than any tie
 * group has. The order and the limit make the planner use the index: it expects any range to hold 0.5% of the
 * table, and would otherwise read the whole table rather than look up the ranges of a large batch.
 */
const eventsInRanges = (count: RowCount) => `
  ${rowsAs('range', RANGE_COLUMNS, count)}
  cross join lateral (
    select *
      from instep.events
     where key between low and high
     order by key
     limit 1000
  ) as event`;

const READ_LOG = textsByRowCount(
  (count) => `
      select ${LOGGED_EVENT_COLUMNS}
        from ${eventsInRanges(count)}
       order by position`,
);

/** The logged events with keys in these ranges, in the order of arrival. Ranges must not overlap. */
export async function readLog(query: Query, ranges: readonly KeyRange[]): Promise<LoggedEvent[]> {
  const { count, values } = parametersOf(ranges, RANGE_COLUMNS);
  return await query<LoggedEvent>({ name: 'read_log', text: READ_LOG[count], values });
}

/** The events of the same subscriptions in the seconds of these events, before and after them, in arrival order. */
export async function readOtherSeconds(
  query: Query,
  events: readonly SubscriptionState[],
): Promise<LoggedEvent[]> {
  return await query<LoggedEvent>({
    name: 'read_other_seconds',
    text: `
      with around as (
        select distinct nearby.position
          from unnest($1::text[], $2::text[], $3::bigint[])
            as asked (customer_id, subscription_id, created_seconds)
         cross join lateral (
                 (select position
                    from instep.events
                   where customer_id = asked.customer_id
                     and subscription_id is not distinct from asked.subscription_id
                     and created_at < to_timestamp(asked.created_seconds)
                   order by created_at desc, position
                   limit ${MAX_EVENTS})
                  union all
                 (select position
                    from instep.events
                   where customer_id = asked.customer_id
                     and subscription_id is not distinct from asked.subscription_id
                     and created_at >= to_timestamp(asked.created_seconds)
                   order by created_at, position
                   limit ${MAX_EVENTS})
               ) as nearby
      )
      select ${LOGGED_EVENT_COLUMNS}
        from around
        join instep.events using (position)
       order by position`,
    values: columnArrays(events, 'customerId', 'subscriptionId', 'createdSeconds'),
  });
}

/** The keys and ids of the events with keys in these ranges that are in the log or were dismissed. */
export async function readEventIds(
  query: Query,
  ranges: readonly KeyRange[],
): Promise<{ key: string; eventId: string | null }[]> {
  return await query<{ key: string; eventId: string | null }>({
    name: 'read_event_ids',
    text: `
      select key, event_id as "eventId"
        from ${eventsInRanges('many')}
       union all
      select key, event_id
        from unnest($1::uuid[], $2::uuid[]) as range (low, high)
        join instep.dismissed_events on key between low and high`,
    values: columnArrays(ranges, 'low', 'high'),
  });
}

/** The events of a customer that were decided, in the order of arrival. */
export async function readEventsOfCustomer(
  query: Query,
  customerId: string,
): Promise<LoggedEvent[]> {
  return await query<LoggedEvent>({
    name: 'read_events_of_customer',
    text: `
      select ${LOGGED_EVENT_COLUMNS}
        from instep.events
       where customer_id = $1
         and outcome in ('applied', 'stale', 'unchanged')
       order by position`,
    values: [customerId],
  });
}

/** The new value if the logged event was parked, because it is decided now. */
const newIfParked = (column: string) =>
  `case logged.outcome when 'parked' then excluded.${column} else logged.${column} end`;

const ENTRY_COLUMNS = {
  key: 'uuid',
  eventId: 'text',
  type: 'text',
  customerId: 'text',
  subscriptionId: 'text',
  createdSeconds: 'bigint',
  receivedAtMs: 'bigint',
  deliveries: 'integer',
  outcome: 'text',
  position: 'bigint',
  bodyStart: 'integer',
  bodyBytes: 'integer',
};

const ASSIGNED_POSITION = `coalesce(position, nextval('instep.events_position_seq'))`;

// Positions are assigned in the order of arrival, but rows are inserted in the order of keys, so that two
// transactions with the same events wait for each other and never deadlock. Bodies are sent as one binary
// value: in an array, each would be written in hex, quoted, and parsed, which took more than a quarter of
// PostgreSQL's time.
const LOG_EVENTS = textsByRowCount((count) => {
  const rows = rowsAs('event', ENTRY_COLUMNS, count);
  const inOrder = `
               (
                 select ${ASSIGNED_POSITION} as assigned_position, event.*
                   from ${rows}
                 offset 0
               ) as arrived
       order by key`;
  return `
      insert into instep.events as logged
             (position, key, event_id, type, customer_id, subscription_id, created_at,
              received_at, deliveries, outcome, body)
      select ${count === 'one' ? ASSIGNED_POSITION : 'assigned_position'}, key, "eventId", type, "customerId", "subscriptionId",
             to_timestamp("createdSeconds"), to_timestamp("receivedAtMs" / 1000.0), deliveries,
             outcome, substring($${Object.keys(ENTRY_COLUMNS).length + 1}::bytea from "bodyStart" for "bodyBytes")
        from ${count === 'one' ? rows : inOrder}
          on conflict (key) do update
         set deliveries  = logged.deliveries + excluded.deliveries,
             outcome     = ${newIfParked('outcome')},
             position    = ${newIfParked('position')},
             created_at  = ${newIfParked('created_at')},
             received_at = ${newIfParked('received_at')}`;
});

/**
 * Writes events to the log, each once. If an event is already there, this counts its deliveries, and changes
 * its outcome only if it was parked. It then also stores the position and the times that the decision was
 * based on, because another transaction can have parked the event meanwhile.
 */
export async function logEvents(query: Query, entries: readonly LogEntry[]): Promise<void> {
  // PostgreSQL counts from 1.
  let bodyStart = 1;
  const rows = entries.map(({ body, ...entry }) => {
    const row = { bodyStart, bodyBytes: body.byteLength, ...entry };
    bodyStart += body.byteLength;
    return row;
  });
  const { count, values } = parametersOf(rows, ENTRY_COLUMNS);
  const bodies = Buffer.concat(entries.map(({ body }) => body));
  await query({ name: 'log_events', text: LOG_EVENTS[count], values: [...values, bodies] });
}

/**
 * Deletes parked events of these customers that are copies of others, and counts their deliveries as those
 * of the others.
 */
export async function deleteParkedCopies(
  query: Query,
  copies: ReadonlyMap<string, string>,
  customerIds: readonly string[],
): Promise<void> {
  await query({
    name: 'delete_parked_copies',
    text: `
      with deleted as (
        delete from instep.events as event
         using unnest($1::uuid[], $2::uuid[]) as copy (key, kept_key)
         where event.key = copy.key
           and event.outcome = 'parked'
           and event.customer_id = any ($3::text[])
        returning kept_key, deliveries
      ), sums as (
        select kept_key, sum(deliveries)::integer as deliveries
          from deleted
         group by kept_key
      )
      update instep.events as event
         set deliveries = event.deliveries + sums.deliveries
        from sums
       where event.key = sums.kept_key`,
    values: [[...copies.keys()], [...copies.values()], customerIds],
  });
}

/** SQL for whether an operator or the retention has dismissed this event: it is parked, and no issue any more. */
export function isDismissed(event: string): string {
  return `exists (
                 select
                   from instep.dismissed_events as dismissed
                  where dismissed.key = ${event}.key
               )`;
}
