// Deletes old events that the ordering rule no longer needs, and customers that never had a team: the job `retention`.

import type { Query } from '../postgres/database.ts';
import { columnArrays, onlyRow } from '../postgres/statement.ts';
import { readStates } from '../postgres/statements/customers.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { FIRST_DATED_KEY } from '../rule/event-key-layout.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause, Stopped } from '../runtime/retry.ts';
import { withLease } from './lease.ts';
import type { Job } from './worker.ts';

const HOUR_MS = 60 * 60 * 1_000;

type PruneServices = {
  readonly query: Query;
  readonly logger: Logger;
  readonly now: () => number;
  /** The instance, for the lease. */
  readonly holder: string;
};

/** Deletes, every hour, what was received longer ago than it is kept for. */
export function createPruneJob(
  { query, logger, now, holder }: PruneServices,
  keptMs: number,
): Job['run'] {
  const lease = { name: 'retention', holder, dueAfterMs: HOUR_MS };
  return async (signal) => {
    await withLease(query, lease, async () => {
      // A clock that has jumped ahead must not delete anything: the database's has to agree.
      const cutoffMs = Math.min(now(), await readClock(query)) - keptMs;
      const events = await pruneLog({ query, cutoffMs }, signal);
      const customers = await pruneCustomers({ query, cutoffMs }, signal);
      if (events + customers > 0) logger.info({ events, customers }, 'event log pruned');
      // The next run begins again.
      if (signal.aborted) throw new Stopped();
    });
  };
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

/** A step can seem to take hours when its process is frozen. */
const LONGEST_PAUSE_MS = 10_000;

/** What a step has deleted, and the last row that it examined; `null`: none are left. */
type Pruned<Key> = { readonly count: number; readonly examinedTo: Key | null };

/** Prunes in small steps, until the signal is aborted. Returns how many rows were deleted. */
async function pruneAll<Key>(
  step: (after: Key | null) => Promise<Pruned<Key>>,
  signal: AbortSignal,
): Promise<number> {
  let pruned = 0;
  let after: Key | null = null;
  while (!signal.aborted) {
    const startedAtMs = performance.now();
    const { count, examinedTo }: Pruned<Key> = await step(after);
    pruned += count;
    if (examinedTo === null) break;
    after = examinedTo;
    const tookMs = performance.now() - startedAtMs;
    await pause(Math.min(tookMs / SHARE - tookMs, LONGEST_PAUSE_MS), { signal });
  }
  return pruned;
}

/** Prunes the log up to the cutoff. It changes no team (docs/decisions/0012). Returns how many events it deleted. */
export const pruneLog = ({ query, cutoffMs }: PruneOptions, signal: AbortSignal) =>
  pruneAll<number>((after) => pruneEvents(query, { after, cutoffMs }), signal);

/** The number of events that one statement examines, within a few milliseconds. */
const BATCH = 500;

/**
 * Deletes, among some events of the log, those that were received before the cutoff and are no longer needed
 * (docs/decisions/0012): unreadable events, and events that are older than the deciding one of their subscription, unless
 * they are of the last tie group before that, or of one from which it follows since when the latest status goes on. It waits
 * for no lock, so that arriving events never wait for it.
 */
export async function pruneEvents(
  query: Query,
  { after, cutoffMs }: { after: number | null; cutoffMs: number },
): Promise<Pruned<number>> {
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
    values: [after ?? 0, cutoff],
  });
  const expired = examined.filter(({ isBefore }) => isBefore);
  const states = await readStates(
    query,
    expired.flatMap(({ customerId }) => customerId ?? []),
  );
  const needed = expired.map(({ position, customerId, subscriptionId }) => {
    const { deciding, latest } = states.of(customerId).subscriptions.get(subscriptionId) ?? {};
    // Null: none is certain.
    const decidingSeconds = deciding?.isAmbiguous ? null : deciding?.reported.createdSeconds;
    return {
      position,
      decidingSeconds: decidingSeconds ?? null,
      sinceSeconds: latest?.sinceSeconds ?? null,
      otherStatusSeconds: latest?.otherStatusSeconds ?? null,
    };
  });
  // An event without `created` counts as created when it arrives, so only its row shows that it is a duplicate.
  const { count } = await onlyRow<{ count: number }>(query, {
    name: 'prune_events',
    text: `
      with prunable as (
        select event.position
          from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
            as needed (position, deciding_seconds, since_seconds, other_status_seconds)
         cross join lateral (
                 select *
                   from instep.events
                  where position = needed.position
                    for update skip locked
               ) as event
         where event.outcome = 'unreadable'
            or event.key >= '${FIRST_DATED_KEY}'
               and event.created_at < to_timestamp(deciding_seconds)
               and event.created_at is distinct from to_timestamp(since_seconds)
               and event.created_at is distinct from to_timestamp(other_status_seconds)
               and exists (
                     select
                       from instep.events as between_them
                      where between_them.customer_id = event.customer_id
                        and between_them.subscription_id is not distinct from event.subscription_id
                        and between_them.created_at > event.created_at
                        and between_them.created_at < to_timestamp(deciding_seconds)
                   )
      ), pruned as (
        delete from instep.events as event
         using prunable
         where event.position = prunable.position
        returning event.position
      ), noted as (
        update instep.pruning
           set pruned_before = $5
         where coalesce(pruned_before, '-infinity') < $5
           and exists (select from prunable)
      )
      select count(*) as count from pruned`,
    values: [
      ...columnArrays(needed, 'position', 'decidingSeconds', 'sinceSeconds', 'otherStatusSeconds'),
      cutoff,
    ],
  });
  const isEnd = expired.length === 0;
  return { count, examinedTo: isEnd ? null : (examined.at(-1)?.position ?? null) };
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

/**
 * Deletes the customers that never had a team and whose last event was received before the cutoff, with their events: other
 * products can share the Stripe account. Returns how many.
 */
export const pruneCustomers = ({ query, cutoffMs }: PruneOptions, signal: AbortSignal) =>
  pruneAll<string>(
    (after) =>
      onlyRow(query, {
        name: 'prune_customers',
        text: PRUNE_CUSTOMERS,
        values: [after, new Date(cutoffMs)],
      }),
    signal,
  );

/** Events received before this time may have been pruned; `null`: none were. */
export async function readPrunedBefore(query: Query): Promise<number | null> {
  const [row] = await query<{ pruned_before: Date | null }>({
    name: 'read_pruned_before',
    text: 'select pruned_before from instep.pruning',
  });
  return row?.pruned_before?.getTime() ?? null;
}
