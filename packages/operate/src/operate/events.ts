// The event log for operators. The console's pages of events call it, and `instep events`.

import { type EventRow, parseLogged, type SortOrder } from 'instep-engine/log';
import { pseudonymsWith, redactBody } from 'instep-engine/repair';
import type { EventSubscription } from 'instep-engine/rule';
import {
  type EventFilter,
  type PageOfEvents,
  readEventAt,
  readEventsWithId,
  readPageOfEvents,
  searchLog,
} from '../event-log/search.ts';
import type { PageStart } from '../runtime/pages.ts';
import type { OperateContext, Search } from './context.ts';

/**
 * The events that match a filter. A page has the newest event first, and starts at a position. Where no index helps, it
 * takes several calls: it continues at `next`. All rows are in the given order.
 *
 * @example
 * ```ts
 * const parked = findEvents(context, { outcome: 'parked' });
 * const { events, next } = await parked.page({ limit: 10 });
 * console.log(events.length, next); // 0 null
 * for await (const { eventId, outcome } of parked.all()) console.log(eventId, outcome);
 * ```
 */
export function findEvents(
  { database: { query }, clockMs }: OperateContext,
  filter: EventFilter = {},
  order: SortOrder = 'newest first',
): Search<EventRow, PageOfEvents, PageStart<number>> {
  return {
    page: ({ start = null, limit = 50 } = {}) =>
      readPageOfEvents(query, { filter, start, limit, clockMs }),
    all: () => searchLog(query, filter, order),
  };
}

/**
 * The events that this text identifies: the one at this position, or all with this id at Stripe, oldest first.
 *
 * @example
 * ```ts
 * console.log(await eventsNamed(context, 'evt_123')); // []
 * ```
 */
export async function eventsNamed(
  { database: { query } }: OperateContext,
  text: string,
): Promise<EventRow[]> {
  if (!/^\d+$/.test(text)) return await readEventsWithId(query, text);
  const event = await readEventAt(query, Number(text));
  return event === null ? [] : [event];
}

/**
 * The body of an event without personal data. The same key gives the same pseudonyms.
 *
 * @example
 * ```ts
 * const { events } = await findEvents(context).page();
 * for (const event of events) console.log(new TextDecoder().decode(redactedBody(event, 'key')));
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
 * const { events } = await findEvents(context).page();
 * for (const event of events) console.log(event.position, subscriptionOf(event)?.status);
 * ```
 */
export function subscriptionOf(event: EventRow): EventSubscription | null {
  return parseLogged(event)?.subscription ?? null;
}
