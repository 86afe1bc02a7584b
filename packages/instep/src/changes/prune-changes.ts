// Deletes old changes of plans that every consumer has handled.

import type { Query } from 'instep-engine/postgres';
import { createPruneJob, type Job, type PruneServices } from 'instep-engine/repair';

/** None, if the changes are kept forever. */
export const pruneChangesJobs = (services: PruneServices, keptMs: number | null): Job[] =>
  createPruneJob(services, 'plan-history', keptMs, (cutoffMs, signal) =>
    pruneChanges(services.query, cutoffMs, signal),
  );

const PRUNE_BATCH = 1_000;

/**
 * Deletes the changes before this time, in milliseconds since 1970, some at a time, until the signal is aborted. What a
 * consumer has not handled stays: one that is behind is an issue, until it goes on or is removed.
 */
async function pruneChanges(query: Query, cutoffMs: number, signal: AbortSignal): Promise<void> {
  for (let deleted = PRUNE_BATCH; deleted === PRUNE_BATCH && !signal.aborted; ) {
    const rows = await query({
      name: 'prune_changes',
      text: `
        delete from instep.plan_changes
         where id in (
                 select id
                   from instep.plan_changes
                  where changed_at < to_timestamp($1 / 1000.0)
                    and id <= all (select position from instep.plan_change_consumers)
                    and not exists (
                          select
                            from instep.waiting_plan_changes
                           where change_id = plan_changes.id
                        )
                  order by id
                  limit $2
               )
        returning id`,
      values: [cutoffMs, PRUNE_BATCH],
    });
    deleted = rows.length;
  }
}
