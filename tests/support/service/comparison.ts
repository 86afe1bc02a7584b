import type { Progress } from 'instep/operate';
import { NOTHING_COUNTED } from 'instep-engine/src/repair/reconcile/compare-customer.ts';
import type { Query } from '../internals/database.ts';

/** Records that all teams were compared with Stripe, without an issue. */
export async function recordComparison(query: Query, atMs = Date.now()): Promise<void> {
  await query(`
    insert into instep.asked_customers (customer_id, first_asked_at, asked_at)
    select distinct provider_customer_id, now(), now()
      from teams
     where provider_customer_id is not null
        on conflict do nothing`);
  const progress: Progress = {
    phase: 'done',
    startedAtMs: atMs,
    isDryRun: false,
    counts: NOTHING_COUNTED,
    completed: { startedAtMs: atMs, endedAtMs: atMs, teams: 1 },
    intervalMs: 24 * 60 * 60 * 1_000,
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
