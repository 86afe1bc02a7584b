import type { LoggedEvent } from '../core/subscription-event.ts';
import type { Query } from '../postgres/database.ts';
import { isDismissed, LOGGED_EVENT } from '../postgres/statements/events.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { pause } from '../runtime/retry.ts';

/** With more parked events than this, it is faster to start from the teams. */
const FEW_PARKED = 1_000;

// Only one of the two branches is executed. If several products share a Stripe account, nearly all events are
// parked, and there are far fewer teams. The inner limit makes the planner use the index of the parked events
// for each team.
const READ_CUSTOMERS_OF_PARKED_EVENTS = ({ teams }: ApplicationTables) => `
      with first_parked as materialized (
        select customer_id
          from instep.events
         where outcome = 'parked'
         order by customer_id
         limit ${FEW_PARKED + 1}
      )
      select distinct customer_id as "customerId"
        from (
               select customer_id
                 from first_parked
                where (select count(*) from first_parked) <= ${FEW_PARKED}
                  and customer_id <> all ($2::text[])
                  and exists (
                        select from ${teams.rows} as teams where provider_customer_id = customer_id
                      )
                union all
               select provider_customer_id
                 from ${teams.rows} as teams
                cross join lateral (
                        select
                          from instep.events
                         where outcome = 'parked'
                           and customer_id = provider_customer_id
                         limit 1
                      ) as parked
                where (select count(*) from first_parked) > ${FEW_PARKED}
                  and provider_customer_id <> all ($2::text[])
             ) as due
       limit $1`;

/** Customers with a team and with parked events, except some. */
export async function readCustomersOfParkedEvents(
  query: Query,
  { limit, exceptIds }: { readonly limit: number; readonly exceptIds: readonly string[] },
): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'read_customers_of_parked_events',
    text: READ_CUSTOMERS_OF_PARKED_EVENTS,
    values: [limit, exceptIds],
  });
  return rows.map(({ customerId }) => customerId);
}

/** The parked events of these customers, the oldest first. */
export async function readParkedEvents(
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

/** Selects the parked events to dismiss: they must match every given member. */
export type ParkedFilter = {
  readonly position?: number | undefined;
  readonly customerId?: string | undefined;
  /** In milliseconds since 1970. */
  readonly receivedBeforeMs?: number | undefined;
  /** Only those of customers without a known subscription, because they never had a team. */
  readonly isCustomerUnknown?: boolean;
};

const DISMISS_PARKED_BATCH = ({ teams }: ApplicationTables) => `
      with parked as (
        select position, key, event_id, is_known
          from instep.events
         cross join lateral (
                 select exists (
                          select
                            from instep.subscriptions as state
                           where state.customer_id = events.customer_id
                        ) as is_known
               ) as customer
         where outcome = 'parked'
           and ($1::bigint is null or position = $1)
           and ($2::text is null or customer_id = $2)
           and ($3::timestamptz is null or received_at < $3)
           and not exists (
                 select from ${teams.rows} as teams where provider_customer_id = customer_id
               )
           and not (is_known and ($5 or ${isDismissed('events')}))
         order by customer_id
         limit $4
           for update of events skip locked
      ), deleted as (
        delete from instep.events
         using parked
         where events.position = parked.position
           and not is_known
      ), remembered as (
        insert into instep.dismissed_events (key, event_id)
        select key, event_id
          from parked
            on conflict (key) do update
           set dismissed_at = excluded.dismissed_at
      ), forgotten as (
        delete from instep.dismissed_events as dismissed
         where dismissed_at < now() - interval '31 days'
           and not exists (select from instep.events as event where event.key = dismissed.key)
      )
      select key
        from parked`;

/**
 * Dismisses parked events whose customer has no team, and returns how many. Those of a customer who had a
 * team stay in the log, because they count again once a team is linked to that customer: without them the
 * stored state of the customer is outdated. Those of other customers are deleted, and catch-up does not treat
 * them as missed.
 */
async function dismissParkedBatch(
  query: Query,
  { position, customerId, receivedBeforeMs, isCustomerUnknown = false }: ParkedFilter,
  limit: number,
): Promise<number> {
  const rows = await query({
    name: 'dismiss_parked_batch',
    text: DISMISS_PARKED_BATCH,
    values: [
      position ?? null,
      customerId ?? null,
      receivedBeforeMs === undefined ? null : new Date(receivedBeforeMs),
      limit,
      isCustomerUnknown,
    ],
  });
  return rows.length;
}

const BATCH = 500;
const PAUSE_MS = 50;

/**
 * Dismisses parked events that match the filter and whose customer still has no team, a few at a time, until
 * the signal is aborted. They no longer raise alerts. Returns how many it dismissed.
 */
export async function dismissParkedEvents(
  query: Query,
  filter: ParkedFilter,
  signal: AbortSignal,
): Promise<number> {
  let dismissed = 0;
  while (!signal.aborted) {
    const count = await dismissParkedBatch(query, filter, BATCH);
    dismissed += count;
    if (count < BATCH) break;
    await pause(PAUSE_MS, { signal });
  }
  return dismissed;
}
