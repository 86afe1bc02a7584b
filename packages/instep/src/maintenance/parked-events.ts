// Decides the events that arrived before a team had their customer.

import type { LoggedEvent } from '../core/subscription-event.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { type Examined, examine } from '../postgres/examine.ts';
import { LOGGED_EVENT_COLUMNS } from '../postgres/statements/events.ts';
import type { DuePage } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import type { Logger } from '../runtime/logging.ts';
import { readableEventOf } from '../stripe/parse-event.ts';
import type { InTurn } from './lease.ts';
import { Repairs } from './repairs.ts';
import type { Job } from './worker.ts';

type ParkedEventsOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly logger: Logger;
  readonly inTurn?: InTurn;
  readonly againAfterMs?: number;
};

/** How many events are ingested at once. */
const BATCH = 200;

/** Ingests parked events again once a team has their customer. */
export function createParkedEventsJob({
  query,
  ingest,
  logger,
  ...options
}: ParkedEventsOptions): Job['run'] {
  const message = 'parked events not decided';
  const repairs = new Repairs({ logger, subject: 'customerId', message, ...options });

  async function decide(events: readonly ReceivedEvent[]): Promise<boolean> {
    return (await ingest(events)).some(({ outcome }) => outcome !== 'parked');
  }

  return async (signal) => {
    let customerIds = await repairs.findDue((page) => readCustomersOfParkedEvents(query, page));
    // Until none is left: the next search goes on with other customers.
    while (customerIds.length > 0 && !signal.aborted) {
      const eventsOf = new Map<string, ReceivedEvent[]>();
      for (const row of await readParkedEvents(query, customerIds, BATCH)) {
        const event = readableEventOf(row);
        if (event === null) continue;
        const { customerId } = event.subscription;
        const { body, receivedAtMs } = row;
        const events = eventsOf.get(customerId) ?? [];
        eventsOf.set(customerId, [...events, { ...event, body, receivedAtMs, source: 'log' }]);
      }
      if (eventsOf.size === 0) return;
      const failed = new Set<string>();
      await Promise.all(
        [...eventsOf].map(async ([id, events]) => {
          if (!(await repairs.attempt(id, () => decide(events)))) failed.add(id);
        }),
      );
      customerIds = customerIds.filter((id) => !failed.has(id));
    }
  };
}

/** How many customers one statement examines. If several products share a Stripe account, nearly all events are parked. */
const CUSTOMERS = 5_000;

const EXAMINED_CUSTOMERS = `
        select distinct customer_id
          from instep.events
         where outcome = 'parked'
           and ${isAfter('text', '$1::text', 'customer_id')}
         order by customer_id
         limit ${CUSTOMERS}`;

const FIND_CUSTOMERS_WITH_TEAM = ({ teams }: ApplicationTables) => `found as (
        select customer_id as "customerId"
          from examined
         where customer_id <> all ($2::text[])
           and exists (
                 select from ${teams.rows} as teams where provider_customer_id = customer_id
               )
         limit $3
      )`;

/** Those of the next customers with parked events who have a team. Some are left out. */
export async function readCustomersOfParkedEvents(
  query: Query,
  { afterId, limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  const { found, examinedTo } = await examine<{ customerId: string }, string>(query, {
    name: 'read_customers_of_parked_events',
    examined: () => EXAMINED_CUSTOMERS,
    key: 'customer_id',
    limit: CUSTOMERS,
    found: FIND_CUSTOMERS_WITH_TEAM,
    values: [afterId, exceptIds, limit],
  });
  return { found: found.map(({ customerId }) => customerId), examinedTo };
}

/** The parked events of these customers, the oldest first. */
async function readParkedEvents(
  query: Query,
  customerIds: readonly string[],
  limit: number,
): Promise<LoggedEvent[]> {
  return await query<LoggedEvent>({
    name: 'read_parked_events',
    text: `
      select ${LOGGED_EVENT_COLUMNS}
        from instep.events
       where outcome = 'parked'
         and customer_id = any ($1::text[])
       order by position
       limit $2`,
    values: [customerIds, limit],
  });
}
