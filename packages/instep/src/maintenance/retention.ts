import { dismissParkedEvents } from '../event-log/parked-events.ts';
import { pruneLog } from '../event-log/prune.ts';
import type { Query } from '../postgres/database.ts';
import type { Logger } from '../runtime/logging.ts';
import { withLease } from './lease.ts';

type RetentionOptions = {
  query: Query;
  retentionMs: number;
  now: () => number;
  /** This instance. */
  holder: string;
  logger: Logger;
};

const DUE_AFTER_MS = 60 * 60 * 1_000;

/**
 * Deletes events older than the retention from the log once an hour, in one of the instances. This includes
 * parked events of customers who never had a team.
 */
export async function pruneExpiredEvents(
  { query, retentionMs, now, holder, logger }: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  const lease = { name: 'retention', holder, dueAfterMs: DUE_AFTER_MS };
  await withLease(query, lease, async (run) => {
    // A clock that has jumped ahead must not delete anything: the database's has to agree.
    const cutoffMs = Math.min(now(), await readClock(query)) - retentionMs;
    const count = await pruneLog({ query, cutoffMs }, signal);
    if (count > 0) logger.info({ count }, 'event log pruned');
    // Without its parked events the state of a known customer is outdated, and a team can get that customer
    // again.
    const expired = { receivedBeforeMs: cutoffMs, isCustomerUnknown: true };
    const parked = await dismissParkedEvents(query, expired, signal);
    if (parked > 0) logger.info({ count: parked }, 'parked events dismissed');
    if (!signal.aborted) await run.complete({});
  });
}

/** The database server's time, in milliseconds since 1970. */
async function readClock(query: Query): Promise<number> {
  const [row] = await query<{ nowMs: number }>({
    name: 'read_clock',
    text: 'select (extract(epoch from now()) * 1000)::bigint as "nowMs"',
  });
  if (row === undefined) throw new RangeError('a select without a table has one row');
  return row.nowMs;
}
