import { sumStatistics } from '../../src/event-log/sum-statistics.ts';
import { openDatabase } from '../../src/postgres/database.ts';

/** No statement takes this long. */
const STATEMENT_TIMEOUT_MS = 60_000;

/**
 * Sums the statistics of a whole log without pauses. A server that ran while the log grew would have summed
 * them already.
 */
export async function completeStatistics(databaseUrl: string): Promise<void> {
  const database = openDatabase({
    connections: [{ connectionString: databaseUrl }],
    maxConnections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onConnectionError: () => undefined,
  });
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
