// Deletes old events that the ordering rule no longer needs, and knows which can be missing since. The job
// `retention` calls it; catch-up and the explanations ask it.

import type { Query } from '../postgres/database.ts';
import { columnArrays, onlyRow } from '../postgres/named-statement.ts';
import { readStates } from '../postgres/statements/customers.ts';
import type { EventSubscription } from '../rule/event.ts';
import { FIRST_DATED_KEY } from '../rule/event-key-layout.ts';
import { throttle } from '../runtime/retry.ts';

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
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  let pruned = 0;
  let step: PruneStep = { afterPosition: 0, cutoffMs };
  while (!signal.aborted) {
    const startedAtMs = performance.now();
    const { count, lastPosition } = await pruneEvents(query, step);
    pruned += count;
    if (lastPosition === null) break;
    step = { ...step, afterPosition: lastPosition };
    await throttle({ startedAtMs, share: SHARE }, signal);
  }
  return pruned;
}

type PruneStep = {
  /** Examines the first events after this position. */
  afterPosition: number;
  /** Events received at this time or later stay, in milliseconds since 1970. */
  cutoffMs: number;
};

type Pruned = {
  count: number;
  /** The last position that was examined; `null` when all events before the cutoff were. */
  lastPosition: number | null;
};

/** The number of events that one statement examines, within a few milliseconds. */
const BATCH = 500;

/**
 * SQL: whether the ordering rule no longer needs `event`: the deciding event of its subscription is newer and certain, and
 * the event is not of the last tie group before that one, in which the status of a later one can have begun.
 */
const IS_NO_LONGER_NEEDED = `
  event.created_at < to_timestamp(event.deciding_seconds)
  and exists (
    select
      from instep.events as between_them
     where between_them.customer_id = event.customer_id
       and between_them.subscription_id is not distinct from event.subscription_id
       and between_them.created_at > event.created_at
       and between_them.created_at < to_timestamp(event.deciding_seconds)
  )`;

type OfSubscription = Pick<EventSubscription, 'customerId' | 'subscriptionId'>;

/** For each, the second of its subscription's deciding event; `null`: there is none that is certain. */
async function readDecidingSeconds(
  query: Query,
  events: readonly { [Name in keyof OfSubscription]: OfSubscription[Name] | null }[],
): Promise<(number | null)[]> {
  const customerIds = new Set(events.flatMap(({ customerId }) => customerId ?? []));
  const states = await readStates(query, [...customerIds]);
  return events.map(({ customerId, subscriptionId }) => {
    const deciding = states.of(customerId).subscriptions.get(subscriptionId)?.deciding ?? null;
    return deciding === null || deciding.isAmbiguous ? null : deciding.reported.createdSeconds;
  });
}

type Examined = OfSubscription & { readonly position: number; readonly isBefore: boolean };

/**
 * Deletes, among some events of the log, those that were received before the cutoff and are no
 * longer needed (docs/decisions/0012): unreadable events, and events whose subscription has newer
 * ones. It waits for no lock, so that arriving events never wait for it.
 */
export async function pruneEvents(
  query: Query,
  { afterPosition, cutoffMs }: PruneStep,
): Promise<Pruned> {
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
  const decidingSeconds = await readDecidingSeconds(query, expired);
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
            or event.outcome <> 'parked'
               and event.key >= '${FIRST_DATED_KEY}'
               and ${IS_NO_LONGER_NEEDED}
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

/** Deletes the states of customers that never had a team and of whom no event is left. */
export async function pruneCustomers(query: Query, signal: AbortSignal): Promise<number> {
  let pruned = 0;
  for (let count = BATCH; count === BATCH && !signal.aborted; pruned += count) {
    const rows = await query({
      name: 'prune_customers',
      text: `
        delete from instep.customers
         where customer_id in (
                 select customer_id
                   from instep.customers as customer
                  where waiting is not null
                    and not had_team
                    and not exists (
                          select
                            from instep.events as event
                           where event.customer_id = customer.customer_id
                        )
                  limit ${BATCH}
                    for update skip locked
               )
        returning customer_id`,
    });
    count = rows.length;
  }
  return pruned;
}

/** The indexes of those of these events that may have been pruned. */
export async function findPruned(
  query: Query,
  events: readonly EventSubscription[],
): Promise<ReadonlySet<number>> {
  const decidingSeconds = await readDecidingSeconds(query, events);
  const rows = await query<{ index: number }>({
    name: 'find_pruned',
    text: `
      select event.index
        from (select customer_id, subscription_id, to_timestamp(seconds) as created_at,
                     deciding_seconds, (ordinality - 1)::integer as index
                from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
                     with ordinality as asked (customer_id, subscription_id, seconds, deciding_seconds)
             ) as event
        join instep.pruning on event.created_at < pruning.pruned_before
       where ${IS_NO_LONGER_NEEDED}`,
    values: [
      ...columnArrays(events, 'customerId', 'subscriptionId', 'createdSeconds'),
      decidingSeconds,
    ],
  });
  return new Set(rows.map(({ index }) => index));
}

/** Events received before this time may have been pruned; `null`: none were. */
export async function readPrunedBefore(query: Query): Promise<number | null> {
  const [row] = await query<{ pruned_before: Date | null }>({
    name: 'read_pruned_before',
    text: 'select pruned_before from instep.pruning',
  });
  return row?.pruned_before?.getTime() ?? null;
}
