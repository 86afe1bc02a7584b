// Deletes old events that the ordering rule no longer needs, and customers that never had a team: the job `retention`. The
// job is also that of features that keep something for some time.

import type { Query } from '../postgres/database.ts';
import { onlyRow } from '../postgres/named-statement.ts';
import { readStates } from '../postgres/statements/customers.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { FIRST_DATED_KEY } from '../rule/event-key-layout.ts';
import { throttle } from '../runtime/retry.ts';
import { withLease } from './lease.ts';
import type { Job } from './worker.ts';

const HOUR_MS = 60 * 60 * 1_000;

export type PruneServices = {
  readonly query: Query;
  readonly now: () => number;
  /** The instance, for the lease. */
  readonly holder: string;
};

/** A job that deletes what is older than it is kept for; none, if it is kept forever. */
export function createPruneJob(
  { query, now, holder }: PruneServices,
  name: string,
  keptMs: number | null,
  prune: (cutoffMs: number, signal: AbortSignal) => Promise<void>,
): Job[] {
  if (keptMs === null) return [];
  const run = async (signal: AbortSignal) => {
    await withLease(query, { name, holder, dueAfterMs: HOUR_MS }, async ({ complete }) => {
      // A clock that has jumped ahead must not delete anything: the database's has to agree.
      await prune(Math.min(now(), await readClock(query)) - keptMs, signal);
      if (!signal.aborted) await complete({});
    });
  };
  return [{ name, intervalMs: 60_000, run }];
}

async function readClock(query: Query): Promise<number> {
  const row = await onlyRow<{ nowMs: number }>(query, {
    name: 'read_clock',
    text: 'select (extract(epoch from now()) * 1000)::bigint as "nowMs"',
  });
  return row.nowMs;
}

type PruneOptions = {
  query: Query;
  /** Events received before then are pruned, in milliseconds since 1970. */
  cutoffMs: number;
};

/** Steps take at most this share of the time, so that other work comes first. */
const SHARE = 0.05;

/**
 * Prunes the log from its beginning up to the cutoff, in small steps, until the signal is aborted.
 * It changes no team (docs/decisions/0012). Returns how many events it deleted.
 */
export async function pruneLog(
  { query, cutoffMs }: PruneOptions,
  signal: AbortSignal,
): Promise<number> {
  let pruned = 0;
  let afterPosition = 0;
  while (!signal.aborted) {
    const startedAtMs = performance.now();
    const { count, lastPosition } = await pruneEvents(query, { afterPosition, cutoffMs });
    pruned += count;
    if (lastPosition === null) break;
    afterPosition = lastPosition;
    await throttle({ startedAtMs, share: SHARE }, signal);
  }
  return pruned;
}

/** The number of events that one statement examines, within a few milliseconds. */
const BATCH = 500;

/**
 * Deletes, among some events of the log, those that were received before the cutoff and are no longer needed
 * (docs/decisions/0012): unreadable events, and events that are older than the deciding one of their subscription, unless
 * they are of the last tie group before that, in which the status of a later one can have begun. It waits for no lock, so
 * that arriving events never wait for it. `lastPosition`: the last that was examined; `null`: none before the cutoff are left.
 */
export async function pruneEvents(
  query: Query,
  { afterPosition, cutoffMs }: { afterPosition: number; cutoffMs: number },
): Promise<{ count: number; lastPosition: number | null }> {
  type Examined = {
    readonly position: number;
    readonly customerId: string | null;
    readonly subscriptionId: string | null;
    readonly isBefore: boolean;
  };
  const cutoff = new Date(cutoffMs);
  const examined = await query<Examined>({
    name: 'read_events_to_prune',
    text: `
      select position,
             customer_id as "customerId",
             subscription_id as "subscriptionId",
             received_at < $2 as "isBefore"
        from instep.events
       where position > $1
       order by position
       limit ${BATCH}`,
    values: [afterPosition, cutoff],
  });
  const expired = examined.filter(({ isBefore }) => isBefore);
  const states = await readStates(
    query,
    expired.flatMap(({ customerId }) => customerId ?? []),
  );
  // Null: none is certain.
  const decidingSeconds = expired.map(({ customerId, subscriptionId }) => {
    const deciding = states.of(customerId).subscriptions.get(subscriptionId)?.deciding ?? null;
    return deciding === null || deciding.isAmbiguous ? null : deciding.reported.createdSeconds;
  });
  // An event without `created` counts as created when it arrives, so only its row shows that it is a duplicate.
  const { count } = await onlyRow<{ count: number }>(query, {
    name: 'prune_events',
    text: `
      with prunable as (
        select event.position
          from unnest($1::bigint[], $2::bigint[]) as examined (position, deciding_seconds)
         cross join lateral (
                 select *, examined.deciding_seconds
                   from instep.events
                  where position = examined.position
                    for update skip locked
               ) as event
         where event.outcome = 'unreadable'
            or event.key >= '${FIRST_DATED_KEY}'
               and event.created_at < to_timestamp(event.deciding_seconds)
               and exists (
                     select
                       from instep.events as between_them
                      where between_them.customer_id = event.customer_id
                        and between_them.subscription_id is not distinct from event.subscription_id
                        and between_them.created_at > event.created_at
                        and between_them.created_at < to_timestamp(event.deciding_seconds)
                   )
      ), pruned as (
        delete from instep.events as event
         using prunable
         where event.position = prunable.position
        returning event.position
      ), noted as (
        update instep.pruning
           set pruned_before = $3
         where coalesce(pruned_before, '-infinity') < $3
           and exists (select from prunable)
      )
      select count(*) as count from pruned`,
    values: [expired.map(({ position }) => position), decidingSeconds, cutoff],
  });
  const isEnd = expired.length === 0;
  return { count, lastPosition: isEnd ? null : (examined.at(-1)?.position ?? null) };
}

const LIMIT = 2_000;

/** An unchanged version proves that no event has arrived since. */
const PRUNE_CUSTOMERS = ({ teams }: ApplicationTables) => `
      with examined as materialized (
        select customer_id, version
          from instep.customers
         where waiting is not null
           and not had_team
           and ${isAfter('text', '$1::text', 'customer_id')}
         order by customer_id
         limit ${LIMIT}
      ), unclaimed as materialized (
        select customer_id, version
          from examined
         where not exists (
                 select
                   from ${teams.rows} as teams
                  where provider_customer_id = examined.customer_id
               )
           and not exists (
                 select
                   from instep.events as event
                  where event.customer_id = examined.customer_id
                    and received_at >= $2
               )
      ), found as (
        select customer_id
          from unclaimed
          join instep.customers as customer using (customer_id, version)
           for update of customer skip locked
      ), without_events as (
        delete from instep.events
         where customer_id in (select customer_id from found)
      ), gone as (
        delete from instep.customers
         where customer_id in (select customer_id from found)
      )
      select (select count(*) from found) as count,
             (select customer_id from examined order by customer_id offset ${LIMIT - 1}) as "examinedTo"`;

/** How many customers were pruned, and the last one that was examined; `null`: none are left. */
type PrunedPage = { readonly count: number; readonly examinedTo: string | null };

/**
 * Deletes the customers that never had a team and whose last event was received before the cutoff, with their events: other
 * products can share the Stripe account. Returns how many.
 */
export async function pruneCustomers(
  { query, cutoffMs }: PruneOptions,
  signal: AbortSignal,
): Promise<number> {
  let pruned = 0;
  let after: string | null = null;
  do {
    const startedAtMs = performance.now();
    const page: PrunedPage = await onlyRow<PrunedPage>(query, {
      name: 'prune_customers',
      text: PRUNE_CUSTOMERS,
      values: [after, new Date(cutoffMs)],
    });
    pruned += page.count;
    after = page.examinedTo;
    if (after !== null) await throttle({ startedAtMs, share: SHARE }, signal);
  } while (after !== null && !signal.aborted);
  return pruned;
}

/** Events received before this time may have been pruned; `null`: none were. */
export async function readPrunedBefore(query: Query): Promise<number | null> {
  const [row] = await query<{ pruned_before: Date | null }>({
    name: 'read_pruned_before',
    text: 'select pruned_before from instep.pruning',
  });
  return row?.pruned_before?.getTime() ?? null;
}
