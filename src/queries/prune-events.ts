import { FIRST_DATED_KEY } from '../core/event-key-layout.ts';
import type { Query } from '../postgres/database.ts';

export type PruneStep = {
  /** Examines the first events after this position. */
  readonly afterPosition: number;
  /** Events received then or later stay, in milliseconds since 1970. */
  readonly cutoffMs: number;
};

export type Pruned = {
  readonly count: number;
  /** The last position that was examined; `null` when everything before the cutoff was. */
  readonly lastPosition: number | null;
};

/** The events that one statement examines, which takes some milliseconds. */
const BATCH = 500;

/**
 * Deletes, among some events of the log, those that were received before the cutoff and are no
 * longer needed (docs/decisions/0012): unreadable events, and events whose subscription has newer
 * ones. It waits for no lock, so that arriving events never wait for it.
 */
export async function pruneEvents(query: Query, step: PruneStep): Promise<Pruned> {
  const [row] = await query<{ count: number; lastPosition: number | null; isEnd: boolean }>({
    name: 'prune_events',
    // The batch size is part of the text, so that the planner knows how small it is. An event
    // without a time of its own counts as created when it arrives, so that only its row shows that
    // it is a duplicate.
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
         where event.received_at < $2
           and (event.outcome = 'unreadable'
                or event.outcome <> 'parked'
                   and event.key >= '${FIRST_DATED_KEY}'
                   and exists (
                         select
                           from instep.subscriptions as state
                          where state.customer_id = event.customer_id
                            and state.subscription_id = coalesce(event.subscription_id, '')
                            and state.created_at > event.created_at
                            and not state.is_order_ambiguous
                            and not state.is_order_inferred
                       ))
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
  if (row === undefined) throw new RangeError('an aggregate has one row');
  return { count: row.count, lastPosition: row.isEnd ? null : row.lastPosition };
}

/** Whether it is this caller's turn to prune: among all instances, one call in an hour. */
export async function claimPruning(query: Query): Promise<boolean> {
  const rows = await query({
    name: 'claim_pruning',
    text: `
      update instep.pruning
         set started_at = now()
       where started_at < now() - interval '1 hour'
      returning started_at`,
  });
  return rows.length > 0;
}

/** Events received before this time may have been pruned; `null`: none was. */
export async function readPrunedBefore(query: Query): Promise<number | null> {
  const [row] = await query<{ pruned_before: Date | null }>({
    name: 'read_pruned_before',
    text: 'select pruned_before from instep.pruning',
  });
  return row?.pruned_before?.getTime() ?? null;
}
