// Decides the events that arrived before a team had their customer.

import type { LoggedEvent } from '../core/subscription-event.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { type Examined, examineTeams } from '../postgres/examine.ts';
import { LOGGED_EVENT_COLUMNS } from '../postgres/statements/events.ts';
import type { DuePage } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
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
    // Until none is left: the next search goes on with other teams.
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

/** With more parked events than this, a search starts from the teams. */
const FEW_PARKED = 1_000;

const FIRST_PARKED = `
               select customer_id
                 from instep.events
                where outcome = 'parked'
                order by customer_id
                limit ${FEW_PARKED + 1}`;

// If several products share a Stripe account, nearly all events are parked, and there can be far fewer teams.
const FIND_CUSTOMERS_OF_PARKED_EVENTS = ({ teams }: ApplicationTables) => `
      few_parked as (
        select customer_id
          from (${FIRST_PARKED}
               ) as first_parked
         where not exists (select from examined)
           and exists (
                 select from ${teams.rows} as teams where provider_customer_id = customer_id
               )
      ), found as (
        select distinct customer_id as "customerId"
          from (
                 select customer_id
                   from few_parked
                  union all
                 select provider_customer_id
                   from examined
                  where exists (
                          select
                            from instep.events
                           where outcome = 'parked'
                             and customer_id = provider_customer_id
                        )
               ) as due
         where customer_id <> all ($2::text[])
         limit $3
      )`;

/** Customers with parked events and a team: one of the next teams if many events are parked. Some are left out. */
export async function readCustomersOfParkedEvents(
  query: Query,
  { afterId, limit, exceptIds }: DuePage,
): Promise<Examined<string>> {
  const { found, examinedTo } = await examineTeams<{ customerId: string }>(query, {
    name: 'read_customers_of_parked_events',
    isNeeded: `(select count(*) from (${FIRST_PARKED}) as first_parked) > ${FEW_PARKED}`,
    found: FIND_CUSTOMERS_OF_PARKED_EVENTS,
    values: [exceptIds, limit],
    afterId,
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
