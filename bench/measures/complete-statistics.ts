import { sumStatistics } from 'instep/src/queries/sum-statistics.ts';
import { openInstepDatabase } from '../database/instep-database.ts';

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
      await sumStatistics(options, signal);
      const [row] = await database.query<{ isComplete: boolean }>(
        `select after_position = 0
                  and up_to_position = (select max(position) from instep.events) as "isComplete"
           from instep.statistics_progress`,
      );
      isComplete = row?.isComplete === true;
    }
  } finally {
    await database.close();
  }
}
