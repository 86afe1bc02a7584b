import { FIRST_DATED_KEY } from '../core/event-key.ts';
import type { Query } from '../postgres/database.ts';

export type PruneStep = {
  /** Looks at the first events after this position. */
  readonly afterPosition: number;
  /** What was received then or later stays, in milliseconds since 1970. */
  readonly cutoffMs: number;
};

export type Pruned = {
  readonly count: number;
  /** The last position that was looked at; `null` when everything before the cutoff was. */
  readonly lastPosition: number | null;
};

/** So many are looked at in one statement, which takes some milliseconds. */
const BATCH = 500;

/**
 * Deletes, among some events of the log, what was received before the cutoff and is not needed any
 * more (docs/decisions/0012): unreadable events, and those whose subscription has got a newer
 * second since. It waits for no lock, so that whoever stores events never waits for long.
 */
export async function pruneEvents(query: Query, step: PruneStep): Promise<Pruned> {
  // The number stands in the statement, so that the planner knows how few they are.
  // An event without a time of its own counts as created when it arrives, so that only its row
  // shows that it is a duplicate.
  const [row] = await query<{ count: number; last_position: number | null; is_end: boolean }>(
    `with looked_at as materialized (
       select position, received_at
         from instep.events
        where position > $1
        order by position
        limit ${BATCH}
     ), prunable as (
       select event.position
         from looked_at
         join instep.events as event on event.position = looked_at.position
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
            max(position) as last_position,
            coalesce(bool_and(received_at >= $2), true) as is_end
       from looked_at`,
    [step.afterPosition, new Date(step.cutoffMs)],
  );
  if (row === undefined) throw new RangeError('an aggregate has one row');
  return { count: row.count, lastPosition: row.is_end ? null : row.last_position };
}

/** Whether it is this caller's turn to prune: once an hour it is somebody's, in all instances. */
export async function claimPruning(query: Query): Promise<boolean> {
  const rows = await query(
    `update instep.pruning
        set started_at = now()
      where started_at < now() - interval '1 hour'
     returning started_at`,
  );
  return rows.length > 0;
}

/** Events that were received before this time may have been pruned; `null`: none was. */
export async function readPrunedBefore(query: Query): Promise<number | null> {
  const [row] = await query<{ pruned_before: Date | null }>(
    `select pruned_before
       from instep.pruning`,
  );
  return row?.pruned_before?.getTime() ?? null;
}
