import { NOTHING_COUNTED, type Progress } from 'instep/src/maintenance/reconcile/progress.ts';
import type { Query } from 'instep/src/postgres/database.ts';

/** Records that all teams were compared with Stripe, without a finding. */
export async function recordComparison(query: Query): Promise<void> {
  const progress: Progress = {
    phase: 'done',
    startedAtMs: Date.now(),
    isDryRun: false,
    cursor: null,
    afterTeamId: null,
    counts: NOTHING_COUNTED,
  };
  await query(
    `update instep.leased_jobs
        set started_at = now(),
            ended_at = now(),
            progress = $1
      where name = 'reconcile'`,
    [JSON.stringify(progress)],
  );
}
