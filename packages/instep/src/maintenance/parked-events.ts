import type { ApplicationId } from '../core/application.ts';
import type { LoggedEvent } from '../core/subscription-event.ts';
import type { Ingest } from '../ingest/pipeline.ts';
import type { ReceivedEvent } from '../ingest/received-event.ts';
import type { Query } from '../postgres/database.ts';
import { type Examined, examineTeams } from '../postgres/examine.ts';
import { LOGGED_EVENT } from '../postgres/statements/events.ts';
import type { DuePage } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import type { Logger } from '../runtime/logging.ts';
import { readableEventOf } from '../stripe/parse-event.ts';
import { sweep } from './lease.ts';
import { type Job, RetryLater } from './worker.ts';

type ParkedEventsOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  readonly logger: Logger;
  /** The maximum share of one database connection's time that is spent looking for due events. */
  readonly maxLoad?: number;
  /** The pause for a customer whose event the database refuses, or whose team another transaction has locked. */
  readonly againAfterMs?: number | undefined;
};

const BATCH = 200;

/** The cost of searches does not grow with what waits: only the pauses do. */
const MAX_LOAD = 0.01;
/** Up to this pause, they cost a third of that. */
const USUAL_PAUSE_MS = 5_000;
/** A database that was busy for a while must not delay the next search for longer. */
const LONGEST_PAUSE_MS = 60_000;

function pauseAfter(tookMs: number, maxLoad: number): number {
  const usualMs = Math.min((3 * tookMs) / maxLoad, USUAL_PAUSE_MS);
  return Math.min(Math.max(usualMs, tookMs / maxLoad), LONGEST_PAUSE_MS);
}

/**
 * Ingests parked events again once a team has their customer. Customers whose events fail are left
 * alone for a while.
 */
export function createParkedEventsJob(options: ParkedEventsOptions): Job['run'] {
  const { query, ingest, logger, maxLoad = MAX_LOAD, againAfterMs: afterMs } = options;
  const later = new RetryLater({ logger, message: 'parked events not decided', afterMs });
  let nextAtMs = 0;
  let formerMs = 0;

  /** How far the teams were searched. */
  let progress: object | null = null;
  let examinedTo: ApplicationId | null = null;

  /** Stays with some teams until none of their events is due. */
  async function search(due: Pick<DuePage, 'limit' | 'exceptIds'>): Promise<string[]> {
    const complete = async (saved: object) => {
      progress = saved;
    };
    const examine = async (afterId: ApplicationId | null) => {
      const examined = await readCustomersOfParkedEvents(query, { afterId, ...due });
      examinedTo = examined.examinedTo;
      return examined;
    };
    return await sweep({ progress, complete }, examine, { limit: 1 });
  }

  /** Returns whether an event was decided. */
  async function ingestOf(customerId: string, events: readonly ReceivedEvent[]): Promise<boolean> {
    const results = await later.attempt({ customerId }, () => ingest(events));
    return results?.some(({ outcome }) => outcome !== 'parked') === true;
  }

  return async (signal) => {
    if (performance.now() < nextAtMs) return;
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      const customerIds = await search({ limit: BATCH, exceptIds: later.ids() });
      const endedAtMs = performance.now();
      // One search can have waited for a busy server or a new connection: two tell what a search takes.
      const tookMs = endedAtMs - startedAtMs;
      nextAtMs = endedAtMs + pauseAfter(Math.min(tookMs, formerMs), maxLoad);
      formerMs = tookMs;
      if (customerIds.length === 0) return;
      const eventsOf = new Map<string, ReceivedEvent[]>();
      for (const row of await readParkedEvents(query, customerIds, BATCH)) {
        const event = readableEventOf(row);
        if (event === null) continue;
        const { customerId } = event.subscription;
        const { body, receivedAtMs } = row;
        const events = eventsOf.get(customerId) ?? [];
        eventsOf.set(customerId, [...events, { ...event, body, receivedAtMs, source: 'log' }]);
      }
      const areDecided = await Promise.all(
        [...eventsOf].map(([id, events]) => ingestOf(id, events)),
      );
      if (areDecided.includes(true)) continue;
      // Otherwise the same events would be read again.
      progress = { after: examinedTo };
      return;
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
      select ${LOGGED_EVENT}
        from instep.events
       where outcome = 'parked'
         and customer_id = any ($1::text[])
       order by position
       limit $2`,
    values: [customerIds, limit],
  });
}
