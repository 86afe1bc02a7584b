// Dismisses parked events, restores them, and deletes those that are not restored. Actions of operators call it, and
// the jobs of maintenance.

import type { Query } from '../postgres/database.ts';
import { examine } from '../postgres/examine.ts';
import { isDismissed } from '../postgres/statements/events.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { pause } from '../runtime/retry.ts';

/** Selects the parked events to dismiss: they must match every given member. */
export type ParkedFilter = {
  readonly position?: number | undefined;
  readonly customerId?: string | undefined;
  /** In milliseconds since 1970. */
  readonly receivedBeforeMs?: number | undefined;
  /** Only those of customers without a known subscription, because they never had a team. */
  readonly isCustomerUnknown?: boolean;
};

const BATCH = 500;
const PAUSE_MS = 50;

/** How many parked events one statement examines, and those of the last customer. */
const EXAMINED = 2_000;

// $1: after this customer. The others are the filter: $2 a position, $3 a customer, $4 a time, $5 `isCustomerUnknown`.
const EXAMINED_PARKED = `
        select position, customer_id
          from instep.events
         where outcome = 'parked'
           and ${isAfter('text', '$1::text', 'customer_id')}
           and ($2::bigint is null or position = $2)
           and ($3::text is null or customer_id = $3)
         order by customer_id
         fetch first ${EXAMINED} rows with ties`;

/** Dismisses the examined events or, with $5, deletes them. Both are remembered, so that catch-up does not miss them. */
const DISMISS = ({ teams }: ApplicationTables) => `
      found as (
        select events.position, events.key, event_id
          from examined
          join instep.events using (position)
         cross join lateral (
                 select exists (
                          select
                            from instep.customers as state
                           where state.customer_id = examined.customer_id
                             and state.had_team
                        ) as is_known
               ) as customer
         where outcome = 'parked'
           and ($4::timestamptz is null or received_at < $4)
           and not exists (
                 select
                   from ${teams.rows} as teams
                  where provider_customer_id = examined.customer_id
               )
           and case when $5 then not is_known else not ${isDismissed('events')} end
         limit ${BATCH}
           for update of events skip locked
      ), deleted as (
        delete from instep.events
         using found
         where events.position = found.position
           and $5
      ), remembered as (
        insert into instep.dismissed_events (key, event_id)
        select key, event_id
          from found
            on conflict (key) do update
           set dismissed_at = excluded.dismissed_at
      ), forgotten as (
        delete from instep.dismissed_events as dismissed
         where dismissed_at < now() - interval '31 days'
           and not exists (select from instep.events as event where event.key = dismissed.key)
      )`;

type Batch = { readonly count: number; readonly isLast: boolean };

/** Runs a statement on a few events at a time, until the signal is aborted. Returns on how many it did. */
async function inBatches(signal: AbortSignal, run: () => Promise<Batch>): Promise<number> {
  let sum = 0;
  while (!signal.aborted) {
    const { count, isLast } = await run();
    sum += count;
    if (isLast) break;
    await pause(PAUSE_MS, { signal });
  }
  return sum;
}

/**
 * Dismisses parked events that match the filter and whose customer has no team, and returns how many. They raise no
 * alert, stay in the log, and count again once a team is linked to their customer. After 30 days, those of customers
 * that never had a team are deleted, and catch-up does not treat them as missed. The retention (`isCustomerUnknown`)
 * deletes them at once.
 */
export async function dismissParkedEvents(
  query: Query,
  { position, customerId, receivedBeforeMs, isCustomerUnknown = false }: ParkedFilter,
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  const before = receivedBeforeMs === undefined ? null : new Date(receivedBeforeMs);
  const filter = [position ?? null, customerId ?? null, before, isCustomerUnknown];
  let after: string | null = null;
  return await inBatches(signal, async () => {
    const { found, examinedTo } = await examine<{ position: number }, string>(query, {
      name: 'dismiss_parked_batch',
      examined: () => EXAMINED_PARKED,
      key: 'customer_id',
      limit: EXAMINED,
      found: DISMISS,
      values: [after, ...filter],
    });
    const isDone = found.length < BATCH;
    if (isDone) after = examinedTo;
    return { count: found.length, isLast: isDone && examinedTo === null };
  });
}

/** Whether a parked event is dismissed. */
export async function readIsDismissed(query: Query, { key }: { key: string }): Promise<boolean> {
  const rows = await query({
    name: 'read_is_dismissed',
    text: `select from instep.dismissed_events where key = $1`,
    values: [key],
  });
  return rows.length > 0;
}

const DELETE_DISMISSED = `
      with old as (
        select position
          from instep.dismissed_events as dismissed
          join instep.events using (key)
         where dismissed_at < now() - interval '30 days'
           and outcome = 'parked'
           and not exists (
                 select
                   from instep.customers as state
                  where state.customer_id = events.customer_id
                    and state.had_team
               )
         limit ${BATCH}
           for update of events skip locked
      )
      delete from instep.events
       using old
       where events.position = old.position
      returning events.position`;

/** Deletes the events of customers that never had a team, 30 days after they were dismissed. */
export async function deleteDismissedEvents(query: Query, signal: AbortSignal): Promise<number> {
  return await inBatches(signal, async () => {
    const { length } = await query({ name: 'delete_dismissed', text: DELETE_DISMISSED });
    return { count: length, isLast: length < BATCH };
  });
}

/** Takes back that parked events were dismissed. Returns how many. */
export async function restoreParkedEvents(
  query: Query,
  { position, customerId }: Pick<ParkedFilter, 'position' | 'customerId'>,
): Promise<number> {
  const rows = await query({
    name: 'restore_parked_events',
    text: `
      delete from instep.dismissed_events as dismissed
       using instep.events
       where events.key = dismissed.key
         and outcome = 'parked'
         and ($1::bigint is null or position = $1)
         and ($2::text is null or customer_id = $2)
      returning dismissed.key`,
    values: [position ?? null, customerId ?? null],
  });
  return rows.length;
}
