// The statements that read single events, and those of a customer.

import type { Query } from '../postgres/database.ts';
import type { LoggedEvent } from './log-event.ts';

/** A logged event with the columns that people see. */
export type EventRow = LoggedEvent & {
  readonly subscriptionId: string | null;
  /** `null` for an unreadable event. */
  readonly createdAtMs: number | null;
  readonly deliveries: number;
};

/** The columns of an `EventRow`. */
export const EVENT_ROW = `
  position,
  key,
  event_id as "eventId",
  type,
  customer_id as "customerId",
  outcome,
  parked_outcome as "parkedOutcome",
  (extract(epoch from received_at) * 1000)::bigint as "receivedAtMs",
  body,
  subscription_id as "subscriptionId",
  (extract(epoch from created_at) * 1000)::bigint as "createdAtMs",
  deliveries`;

/** An event must match every given member. */
type Filter = Partial<Pick<EventRow, 'subscriptionId' | 'type' | 'outcome'>> & {
  readonly customerId: string;
};

/** Positions after `after`, up to `upTo`. */
export type PositionRange = { readonly after: number; readonly upTo: number };

export type SortOrder = 'newest first' | 'oldest first';

/** Some events in an order, up to a limit. */
export type Page = { order: SortOrder; limit: number };

const DIRECTIONS = { 'newest first': 'desc', 'oldest first': 'asc' } as const;

/** The first matching events of a position range, in this order of arrival. The index `events_of_customer` finds them. */
export async function readEvents(
  query: Query,
  filter: Filter,
  { after, upTo }: PositionRange,
  { order, limit }: Page,
): Promise<EventRow[]> {
  const { customerId, subscriptionId = null, type = null, outcome = null } = filter;
  return await query<EventRow>({
    name: 'read_events',
    text: `
      select ${EVENT_ROW}
        from instep.events
       where customer_id = $1
         and position > $2
         and position <= $3
         and ($4::text is null or subscription_id = $4)
         and ($5::text is null or type = $5)
         and ($6::text is null or outcome = $6)
       order by position ${DIRECTIONS[order]}
       limit $7`,
    values: [customerId, after, upTo, subscriptionId, type, outcome, limit],
  });
}

/** The events at these positions, in the order of arrival. */
export async function readEventsAt(
  query: Query,
  positions: readonly number[],
): Promise<EventRow[]> {
  return await query<EventRow>({
    name: 'read_events_at',
    text: `
      select ${EVENT_ROW}
        from instep.events
       where position = any ($1::bigint[])
       order by position`,
    values: [positions],
  });
}
