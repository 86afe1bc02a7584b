// Deletes old parked events of customers that never had a team: other products can share the Stripe account. The job
// `retention` calls it.

import type { Query } from '../postgres/database.ts';
import { type Examined, examine } from '../postgres/examine.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { pause } from '../runtime/retry.ts';

const BATCH = 500;
const PAUSE_MS = 50;

/** How many parked events one statement examines, and those of the last customer. */
const LIMIT = 2_000;

const EXAMINED_PARKED = `
        select position, customer_id
          from instep.events
         where outcome = 'parked'
           and ${isAfter('text', '$1::text', 'customer_id')}
         order by customer_id
         fetch first ${LIMIT} rows with ties`;

/** The deleted ones are remembered, so that catch-up does not miss them. */
const PRUNE = ({ teams }: ApplicationTables) => `
      found as (
        select events.position, events.key, event_id
          from examined
          join instep.events using (position)
         where outcome = 'parked'
           and received_at < $2
           and not exists (
                 select
                   from instep.customers as state
                  where state.customer_id = examined.customer_id
                    and state.had_team
               )
           and not exists (
                 select
                   from ${teams.rows} as teams
                  where provider_customer_id = examined.customer_id
               )
         limit ${BATCH}
           for update of events skip locked
      ), deleted as (
        delete from instep.events
         using found
         where events.position = found.position
      ), remembered as (
        insert into instep.pruned_events (key, event_id)
        select key, event_id
          from found
            on conflict (key) do update
           set pruned_at = excluded.pruned_at
      ), forgotten as (
        delete from instep.pruned_events
         where pruned_at < now() - interval '31 days'
      )`;

/**
 * Deletes the parked events that were received before this time, in milliseconds since 1970, and whose customer never had a
 * team: some at a time, until the signal is aborted. Returns how many.
 */
export async function pruneParkedEvents(
  query: Query,
  receivedBeforeMs: number,
  signal: AbortSignal,
): Promise<number> {
  let after: string | null = null;
  let pruned = 0;
  while (!signal.aborted) {
    const batch: Examined<{ position: number }, string> = await examine(query, {
      name: 'prune_parked_events',
      examined: () => EXAMINED_PARKED,
      key: 'customer_id',
      limit: LIMIT,
      found: PRUNE,
      values: [after, new Date(receivedBeforeMs)],
    });
    const { found, examinedTo } = batch;
    pruned += found.length;
    // A full batch can have left out some of what was examined.
    if (found.length < BATCH) after = examinedTo;
    if (found.length < BATCH && examinedTo === null) break;
    await pause(PAUSE_MS, { signal });
  }
  return pruned;
}
