// Reads events back from the log, such as those that a fold needs besides the state.

import type { Statement } from '../postgres/statement.ts';
import { KnownEvents, type NeededEvents } from '../rule/known-events.ts';
import type { LoggedEvent } from './log-event.ts';
import { parseLogged } from './parse-logged.ts';

/** The columns of an event, for `eventsIn`. */
export const EVENT_COLUMNS = `
       key::text, event_id as "eventId", type, customer_id as "customerId",
       (extract(epoch from received_at) * 1000)::bigint::text as "receivedText",
       outcome, parked_outcome as "parkedOutcome", encode(body, 'base64') as "bodyText"`;

/** Drivers differ in what they make of other types than text. */
export type EventTextRow = Omit<LoggedEvent, 'position' | 'receivedAtMs' | 'body'> &
  Readonly<Record<'receivedText' | 'bodyText', string>>;

// Of each subscription: the events of these seconds, the next one after them, and the one with this key.
const READ_NEEDED_EVENTS = `
select distinct on (position)${EVENT_COLUMNS}
  from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[])
    as asked (of_customer, of_subscription, from_seconds, to_seconds, asked_key)
 cross join lateral (
         (select *
            from instep.events
           where customer_id = of_customer
             and subscription_id is not distinct from of_subscription
             and created_at between to_timestamp(from_seconds) and to_timestamp(to_seconds)
           order by position
           limit 1000)
          union all
         (select *
            from instep.events
           where customer_id = of_customer
             and subscription_id is not distinct from of_subscription
             and created_at > to_timestamp(to_seconds)
           order by created_at
           limit 1)
          union all
         (select *
            from instep.events
           where key = asked_key)
       ) as event
 where outcome <> 'unreadable'
 order by position`;

export function readNeededEvents(needed: readonly NeededEvents[]): Statement {
  const column = <Name extends keyof NeededEvents>(name: Name) => needed.map((one) => one[name]);
  return {
    name: 'read_needed_events',
    text: READ_NEEDED_EVENTS,
    values: [
      ...[column('customerId'), column('subscriptionId')],
      ...[column('fromSeconds'), column('toSeconds'), column('key')],
    ],
  };
}

/** The events of the log that decisions look at. */
export type LoggedEvents = {
  readonly known: KnownEvents;
  /** By key. */
  readonly outcomes: Map<string, Pick<LoggedEvent, 'outcome' | 'parkedOutcome'>>;
};

/** The events of these rows, by customer. */
export function eventsIn(rows: readonly EventTextRow[]): ReadonlyMap<string, LoggedEvents> {
  const customers = new Map<string, LoggedEvents>();
  for (const { receivedText, bodyText, ...row } of rows) {
    const { customerId, outcome, parkedOutcome } = row;
    const event = parseLogged({
      ...row,
      receivedAtMs: Number(receivedText),
      body: Buffer.from(bodyText, 'base64'),
    });
    if (event === null || customerId === null) continue;
    const ofCustomer = customers.get(customerId) ?? noEvents();
    ofCustomer.known.add(event);
    ofCustomer.outcomes.set(event.key, { outcome, parkedOutcome });
    customers.set(customerId, ofCustomer);
  }
  return customers;
}

export function noEvents(): LoggedEvents {
  return { known: new KnownEvents(), outcomes: new Map() };
}
