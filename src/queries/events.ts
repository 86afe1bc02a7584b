import type { KeyRange } from '../core/event-key.ts';
import type { LoggedEvent, LoggedOutcome } from '../core/logged-event.ts';
import type { Query } from '../postgres/database.ts';

/** An event as the log keeps it. */
export type LogEntry = {
  readonly key: string;
  readonly eventId: string | null;
  readonly type: string;
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
  readonly createdSeconds: number | null;
  readonly receivedAtMs: number;
  readonly outcome: LoggedOutcome;
  readonly body: Uint8Array;
  /** How often this batch delivered it; 0 when it came from the log itself. */
  readonly deliveries: number;
};
type LogTableRow = {
  position: number;
  key: string;
  event_id: string | null;
  type: string;
  outcome: LoggedOutcome;
  received_at: Date;
  body: Buffer;
};

/**
 * What stands in the log with keys in these ranges, in the order of arrival. The ranges must not
 * overlap. Of one range a thousand events at most: nobody lives through more in a second.
 */
export async function readLog(query: Query, ranges: readonly KeyRange[]): Promise<LoggedEvent[]> {
  const rows = await query<LogTableRow>(
    // The order and the limit keep the planner on the index: it takes any range of keys for one
    // two-hundredth of the table, and would read all of it rather than look up 64 of those.
    `select position, key, event_id, type, outcome, received_at, body
       from unnest($1::uuid[], $2::uuid[]) as range (low, high)
      cross join lateral (
              select *
                from instep.events
               where key between low and high
               order by key
               limit 1000
            ) as logged
      order by position`,
    [ranges.map(({ low }) => low), ranges.map(({ high }) => high)],
  );
  return rows.map(toLogRow);
}

/** What stands in the log with keys in these ranges. */
export async function readEventIds(
  query: Query,
  ranges: readonly KeyRange[],
): Promise<{ key: string; eventId: string | null }[]> {
  return await query<{ key: string; eventId: string | null }>(
    `select key, event_id as "eventId"
       from unnest($1::uuid[], $2::uuid[]) as range (low, high)
      cross join lateral (
              select key, event_id
                from instep.events
               where key between low and high
               order by key
               limit 1000
            ) as logged`,
    [ranges.map(({ low }) => low), ranges.map(({ high }) => high)],
  );
}

/** The keys in a range that stand in the log. */
export async function readKeys(query: Query, { low, high }: KeyRange): Promise<string[]> {
  const rows = await query<{ key: string }>(
    `select key
       from instep.events
      where key between $1 and $2`,
    [low, high],
  );
  return rows.map(({ key }) => key);
}

/**
 * Parked events whose customer has a team now, the oldest first. Few events are parked, so all of
 * them are looked at; their bodies are fetched only of those that are due.
 */
export async function readDueParkedEvents(query: Query, limit: number): Promise<LoggedEvent[]> {
  const rows = await query<LogTableRow>(
    `with parked as materialized (
       select position, customer_id
         from instep.events
        where outcome = 'parked'
     ), due as (
       select position
         from parked
        where exists (
                select
                  from teams
                 where provider_customer_id = parked.customer_id
              )
        order by position
        limit $1
     )
     select position, key, event_id, type, outcome, received_at, body
       from due
       join instep.events using (position)
      order by position`,
    [limit],
  );
  return rows.map(toLogRow);
}

/** All events of a customer that were decided on, in the order of arrival. */
export async function readEventsOfCustomer(
  query: Query,
  customerId: string,
): Promise<LoggedEvent[]> {
  const rows = await query<LogTableRow>(
    `select position, key, event_id, type, outcome, received_at, body
       from instep.events
      where customer_id = $1
        and outcome in ('applied', 'stale', 'unchanged')
      order by position`,
    [customerId],
  );
  return rows.map(toLogRow);
}

/** The same, but only so many up to a position, and so many after it. */
export async function readEventsAround(
  query: Query,
  customerId: string,
  { position, count }: { readonly position: number; readonly count: number },
): Promise<LoggedEvent[]> {
  const rows = await query<LogTableRow>(
    `select *
       from (
              (select position, key, event_id, type, outcome, received_at, body
                 from instep.events
                where customer_id = $1
                  and position <= $2
                  and outcome in ('applied', 'stale', 'unchanged')
                order by position desc
                limit $3)
               union all
              (select position, key, event_id, type, outcome, received_at, body
                 from instep.events
                where customer_id = $1
                  and position > $2
                  and outcome in ('applied', 'stale', 'unchanged')
                order by position
                limit $3)
            ) as around
      order by position`,
    [customerId, position, count],
  );
  return rows.map(toLogRow);
}

/** The bodies of the last events that Stripe delivered, the newest first. */
export async function readLastBodies(query: Query, limit: number): Promise<Uint8Array[]> {
  const rows = await query<{ body: Buffer }>(
    `select body
       from (
              select position, body, deliveries
                from instep.events
               order by position desc
               limit 1000
            ) as newest
      where deliveries > 0
      order by position desc
      limit $1`,
    [limit],
  );
  return rows.map(({ body }) => body);
}

function toLogRow({ event_id, received_at, ...row }: LogTableRow): LoggedEvent {
  return { ...row, eventId: event_id, receivedAtMs: received_at.getTime() };
}

/**
 * Writes events into the log, each once. One that stands there already gets its deliveries
 * counted, and its outcome only if it was parked.
 */
export async function logEvents(query: Query, entries: readonly LogEntry[]): Promise<void> {
  // Bodies travel as one value, in its own bytes: in an array each would be written in hex, quoted,
  // and read sign by sign, which took more than a quarter of all the time that PostgreSQL had to take.
  const bodies = placesOf(entries);
  // Positions are given in the order of arrival, but rows are inserted in the order of keys: two
  // transactions with the same events then wait for each other, and never deadlock.
  await query(
    `with arrived as materialized (
       select nextval('instep.events_position_seq') as position, event.*
         from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
                     $7::bigint[], $8::integer[], $9::text[], $10::integer[], $11::integer[])
           as event (key, event_id, type, customer_id, subscription_id, created_seconds,
                     received_ms, deliveries, outcome, body_at, body_bytes)
     )
     insert into instep.events as logged
            (position, key, event_id, type, customer_id, subscription_id, created_at,
             received_at, deliveries, outcome, body)
            overriding system value
     select position, key, event_id, type, customer_id, subscription_id,
            to_timestamp(created_seconds), to_timestamp(received_ms / 1000.0), deliveries,
            outcome, substring($12::bytea from body_at for body_bytes)
       from arrived
      order by key
         on conflict (key) do update
        set deliveries = logged.deliveries + excluded.deliveries,
            outcome = case logged.outcome
                        when 'parked' then excluded.outcome
                        else logged.outcome
                      end`,
    [
      entries.map((entry) => entry.key),
      entries.map((entry) => entry.eventId),
      entries.map((entry) => entry.type),
      entries.map((entry) => entry.customerId),
      entries.map((entry) => entry.subscriptionId),
      entries.map((entry) => entry.createdSeconds),
      entries.map((entry) => entry.receivedAtMs),
      entries.map((entry) => entry.deliveries),
      entries.map((entry) => entry.outcome),
      bodies.map(({ at }) => at),
      bodies.map(({ bytes }) => bytes),
      Buffer.concat(entries.map((entry) => entry.body)),
    ],
  );
}

/** Where each body begins in all of them, one after the other; PostgreSQL counts from 1. */
function placesOf(entries: readonly LogEntry[]): { at: number; bytes: number }[] {
  let at = 1;
  return entries.map(({ body }) => {
    const place = { at, bytes: body.byteLength };
    at += body.byteLength;
    return place;
  });
}
