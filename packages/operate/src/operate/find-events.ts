// The event log for operators. It has an index for customers, times and parked events only, so a statement examines a limited
// number of events. The console's pages of events call it, and `instep events`.

import {
  EVENT_ROW,
  type EventRow,
  type LoggedOutcome,
  parseLogged,
  readEventsAt,
  type SortOrder,
} from 'instep-engine/log';
import { pseudonymsWith, redactBody } from 'instep-engine/repair';
import type { EventSubscription } from 'instep-engine/rule';
import {
  type Direction,
  EXAMINED,
  type ExaminedTo,
  type Search,
  searchOf,
} from '../runtime/pages.ts';
import type { ReadContext } from './context.ts';

/** An event must match every given member. */
export type EventFilter = {
  readonly eventId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly outcome?: LoggedOutcome | undefined;
  /** Received at this time or later, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
  /** Received before this time. */
  readonly untilMs?: number | undefined;
};

/**
 * The events that match a filter, in an order of arrival. Pages begin at positions, so they don't shift while events arrive.
 * Where no index helps, a page takes several calls: it continues at `searchedTo`.
 *
 * @example
 * ```ts
 * const parked = findEvents(context, { outcome: 'parked' });
 * const { rows, next } = await parked.page({ limit: 10 });
 * console.log(rows.length, next); // 0 null
 * for await (const { eventId, outcome } of parked.all()) console.log(eventId, outcome);
 * ```
 */
export function findEvents(
  { database: { query } }: ReadContext,
  { eventId, customerId, subscriptionId, outcome, sinceMs, untilMs }: EventFilter = {},
  order: SortOrder = 'newest first',
): Search<EventRow, number> {
  const filter = [customerId, outcome, eventId, subscriptionId, dateOf(sinceMs), dateOf(untilMs)];
  return searchOf<EventRow & ExaminedTo<number>, EventRow, number>(query, {
    name: 'find_events',
    text: (_, direction) => FIND_EVENTS(direction),
    values: ({ from, limit }) => [from, limit, ...filter.map((value) => value ?? null)],
    isDescending: order === 'newest first',
    keyOf: ({ position }) => position,
    complete: (rows) => rows.map(({ examinedTo: _, ...event }) => event),
  });
}

/** Greater than any position. */
const END = Number.MAX_SAFE_INTEGER;

/** SQL: where the log was at a time; null: no event has arrived since. */
const firstSince = (time: string) =>
  `(select position from instep.events where received_at >= ${time} order by received_at limit 1)`;

/**
 * Ids of events have no index, because it would cost every event a write to another random page. The times of instances
 * differ, and an event gets its position when it is written, so times can deviate from the order of positions.
 */
const FIND_EVENTS = ({ beyond, order }: Direction) => {
  const next = `
             and position ${beyond} coalesce($1::bigint, ${order === 'asc' ? 0 : END})
             and position between (select first from period) and (select last from period)
           order by position ${order}
           limit ${EXAMINED}`;
  return `
      with period as materialized (
        select case
                 when $7::timestamptz is null then 0
                 else coalesce(${firstSince("$7::timestamptz - interval '1 minute'")}, ${END})
               end as first,
               coalesce(${firstSince("$8::timestamptz + interval '1 minute'")}, ${END}) as last
      ), examined as materialized (
        -- Only one of the three is read, by its index.
        (select position, event_id, subscription_id, outcome, received_at
            from instep.events
           where customer_id = $3 ${next})
         union all
        (select position, event_id, subscription_id, outcome, received_at
            from instep.events
           where $3::text is null
             and $4 = 'parked'
             and outcome = 'parked' ${next})
         union all
        (select position, event_id, subscription_id, outcome, received_at
            from instep.events
           where $3::text is null
             and coalesce($4 <> 'parked', true) ${next})
         order by position ${order}
      ), found as (
        select ${EVENT_ROW}
          from (
                 select position
                   from examined
                  where ($4::text is null or outcome = $4)
                    and ($5::text is null or event_id = $5)
                    and ($6::text is null or subscription_id = $6)
                    and ($7::timestamptz is null or received_at >= $7)
                    and ($8::timestamptz is null or received_at < $8)
                  order by position ${order}
                  limit $2
               ) as matching
          join instep.events using (position)
      )
      select found.*,
             (select position from examined order by position ${order} offset ${EXAMINED - 1}) as "examinedTo"
        from (select) as once
        left join found on true
       order by found.position ${order}`;
};

const dateOf = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms));

/**
 * The event at this position, or the newest one with this id at Stripe; `null`: there is none.
 *
 * @example
 * ```ts
 * console.log(await eventNamed(context, 'evt_123')); // null
 * ```
 */
export async function eventNamed(context: ReadContext, text: string): Promise<EventRow | null> {
  if (/^\d{1,16}$/.test(text)) {
    return (await readEventsAt(context.database.query, [Number(text)]))[0] ?? null;
  }
  for await (const event of findEvents(context, { eventId: text }).all()) return event;
  return null;
}

/**
 * The body of an event without personal data. The same key gives the same pseudonyms.
 *
 * @example
 * ```ts
 * const { rows } = await findEvents(context).page();
 * for (const event of rows) console.log(new TextDecoder().decode(redactedBody(event, 'key')));
 * ```
 */
export function redactedBody({ body }: EventRow, key: string): Uint8Array {
  return redactBody(body, pseudonymsWith(key));
}

/**
 * What an event or a snapshot says about its subscription; `null` when it was unreadable. Pure.
 *
 * @example
 * ```ts
 * const { rows } = await findEvents(context).page();
 * for (const event of rows) console.log(event.position, subscriptionOf(event)?.status);
 * ```
 */
export function subscriptionOf(event: EventRow): EventSubscription | null {
  return parseLogged(event)?.subscription ?? null;
}
