import { withLease } from 'instep/src/maintenance/lease.ts';
import { sumStatistics } from 'instep/src/maintenance/statistics.ts';
import { openInstepDatabase } from '../database/instep-database.ts';

const LEASE = { name: 'statistics', holder: 'bench', dueAfterMs: 0 };

/**
 * Sums the statistics of a whole log without pauses. A server that ran while the log grew would have summed
 * them already.
 */
export async function completeStatistics(databaseUrl: string): Promise<void> {
  const database = openInstepDatabase(databaseUrl);
  const options = { database, now: Date.now, clockMs: () => performance.now() };
  // With this signal, each call is one step.
  const signal = AbortSignal.abort();
  try {
    for (let isComplete = false; !isComplete; ) {
      await withLease(database.query, LEASE, (run) => sumStatistics(run, options, signal));
      const [row] = await database.query<{ isComplete: boolean }>(
        `select (progress ->> 'upTo')::bigint = (select max(position) from instep.events) as "isComplete"
           from instep.leased_jobs
          where name = 'statistics'`,
      );
      isComplete = row?.isComplete === true;
    }
  } finally {
    await database.close();
  }
}
