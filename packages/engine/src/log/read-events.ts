// Reads events back from the log: those that a fold needs besides the state, and all of a customer.

import type { Statement } from '../postgres/statement.ts';
import type { SubscriptionEvent } from '../rule/event.ts';
import { KnownEvents, type NeededEvents } from '../rule/known-events.ts';
import type { LoggedOutcome } from './received-event.ts';

/** An event as the log returns it. */
export type LoggedEvent = {
  readonly position: number;
  readonly key: string;
  readonly eventId: string | null;
  readonly type: string;
  readonly customerId: string | null;
  readonly receivedAtMs: number;
  readonly outcome: LoggedOutcome;
  readonly parkedOutcome: LoggedOutcome | null;
  readonly body: Uint8Array;
};

/** Reads the body of a logged event; `null`: it can't be read. */
export type ParseLogged = (logged: LoggedEvent) => SubscriptionEvent | null;

const COLUMNS = `
       position::text as "positionText", key::text, event_id as "eventId", type, customer_id as "customerId",
       (extract(epoch from received_at) * 1000)::bigint::text as "receivedText",
       outcome, parked_outcome as "parkedOutcome", encode(body, 'base64') as "bodyText"`;

/** Drivers differ in what they make of other types than text. */
type EventRow = Omit<LoggedEvent, 'position' | 'receivedAtMs' | 'body'> &
  Readonly<Record<'positionText' | 'receivedText' | 'bodyText', string>>;

// Of each subscription: the events of these seconds, the next one after them, and the one with this key.
const READ_NEEDED_EVENTS = `
select distinct on (position)${COLUMNS}
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

/** All events of a customer, in the order of arrival. */
export function readEventsOfCustomer(customerId: string): Statement {
  const text = `
select${COLUMNS}
  from instep.events as event
 where customer_id = $1
   and outcome <> 'unreadable'
 order by event.position`;
  return { name: 'read_events_of_customer', text, values: [customerId] };
}

/** The events of the log that decisions look at. */
export type LoggedEvents = {
  readonly known: KnownEvents;
  /** By key. */
  readonly outcomes: Map<string, LoggedOutcomes>;
};

/** The outcome in the log and, for a parked event, the one that it gets with a team. */
export type LoggedOutcomes = {
  readonly outcome: LoggedOutcome;
  readonly withTeam: LoggedOutcome | null;
};

/** The events of these rows, by customer. */
export function eventsIn(
  rows: readonly EventRow[],
  parse: ParseLogged,
): ReadonlyMap<string, LoggedEvents> {
  const customers = new Map<string, LoggedEvents>();
  for (const { positionText, receivedText, bodyText, ...row } of rows) {
    const { customerId, outcome, parkedOutcome } = row;
    const event = parse({
      ...row,
      position: Number(positionText),
      receivedAtMs: Number(receivedText),
      body: Buffer.from(bodyText, 'base64'),
    });
    if (event === null || customerId === null) continue;
    const ofCustomer = customers.get(customerId) ?? noEvents();
    ofCustomer.known.add(event);
    ofCustomer.outcomes.set(event.key, { outcome, withTeam: parkedOutcome });
    customers.set(customerId, ofCustomer);
  }
  return customers;
}

export function noEvents(): LoggedEvents {
  return { known: new KnownEvents(), outcomes: new Map() };
}
