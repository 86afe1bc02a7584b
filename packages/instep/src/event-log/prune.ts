// Deletes old events that the ordering rule no longer needs, and knows which can be missing since. The job
// `retention` calls it; catch-up and the explanations ask it.

import { FIRST_DATED_KEY } from '../core/event-key-layout.ts';
import type { SubscriptionState } from '../core/subscription-event.ts';
import type { Query } from '../postgres/database.ts';
import { columnArrays, onlyRow } from '../postgres/statement.ts';
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
 * Whether the ordering rule no longer needs `event`: the deciding event of its subscription is newer and certain, and
 * the event is not of the last tie group before that one, in which the status of a later one can have begun.
 */
const IS_NO_LONGER_NEEDED = `
  exists (
    select
      from instep.subscriptions as state
     where state.customer_id = event.customer_id
       and state.subscription_id = coalesce(event.subscription_id, '')
       and state.created_at > event.created_at
       and not state.is_order_ambiguous
       and exists (
             select
               from instep.events as between_them
              where between_them.customer_id = event.customer_id
                and between_them.subscription_id is not distinct from event.subscription_id
                and between_them.created_at > event.created_at
                and between_them.created_at < state.created_at
           )
  )`;

/**
 * Deletes, among some events of the log, those that were received before the cutoff and are no
 * longer needed (docs/decisions/0012): unreadable events, and events whose subscription has newer
 * ones. It waits for no lock, so that arriving events never wait for it.
 */
export async function pruneEvents(query: Query, step: PruneStep): Promise<Pruned> {
  const row = await onlyRow<{ count: number; lastPosition: number | null; isEnd: boolean }>(query, {
    name: 'prune_events',
    // The batch size is part of the text, so that the planner knows how small it is. An event without
    // `created` counts as created when it arrives, so only its row shows that it is a duplicate.
    text: `
      with examined as materialized (
        select position, received_at
          from instep.events
         where position > $1
         order by position
         limit ${BATCH}
      ), prunable as (
        select event.position
          from examined
          join instep.events as event on event.position = examined.position
         where examined.received_at < $2
           and (event.outcome = 'unreadable'
                or event.outcome <> 'parked'
                   and event.key >= '${FIRST_DATED_KEY}'
                   and ${IS_NO_LONGER_NEEDED})
           for update of event skip locked
      ), pruned as (
        delete from instep.events as event
         using prunable
         where event.position = prunable.position
        returning event.position
      ), noted as (
        update instep.pruning
           set pruned_before = $2
         where coalesce(pruned_before, '-infinity') < $2
           and exists (select from prunable)
      )
      select (select count(*) from pruned) as count,
             max(position) as "lastPosition",
             coalesce(bool_and(received_at >= $2), true) as "isEnd"
        from examined`,
    values: [step.afterPosition, new Date(step.cutoffMs)],
  });
  return { count: row.count, lastPosition: row.isEnd ? null : row.lastPosition };
}

/** The indexes of those of these events that may have been pruned. */
export async function findPruned(
  query: Query,
  events: readonly SubscriptionState[],
): Promise<ReadonlySet<number>> {
  const rows = await query<{ index: number }>({
    name: 'find_pruned',
    text: `
      select event.index
        from (select customer_id, subscription_id, to_timestamp(seconds) as created_at,
                     (ordinality - 1)::integer as index
                from unnest($1::text[], $2::text[], $3::bigint[])
                     with ordinality as asked (customer_id, subscription_id, seconds)
             ) as event
        join instep.pruning on event.created_at < pruning.pruned_before
       where ${IS_NO_LONGER_NEEDED}`,
    values: columnArrays(events, 'customerId', 'subscriptionId', 'createdSeconds'),
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
