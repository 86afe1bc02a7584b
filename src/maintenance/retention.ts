import { dismissParkedEvents } from '../event-log/dismiss.ts';
import { pruneLog } from '../event-log/prune.ts';
import type { Query } from '../postgres/database.ts';
import { claimPruning } from '../queries/prune-events.ts';
import type { Logger } from '../runtime/logging.ts';

export type RetentionOptions = {
  readonly query: Query;
  readonly retentionMs: number;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
};

/**
 * Deletes events older than the retention from the log, also those that are parked for a customer who
 * never had a team, once an hour in one of the instances.
 */
export async function pruneExpiredEvents(
  { query, retentionMs, now, logger }: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!(await claimPruning(query))) return;
  const cutoffMs = now() - retentionMs;
  const count = await pruneLog({ query, cutoffMs }, signal);
  if (count > 0) logger.info({ count }, 'event log pruned');
  // The state of a known customer is outdated without them, and a team can get that customer again.
  const expired = { receivedBeforeMs: cutoffMs, isCustomerUnknown: true };
  const parked = await dismissParkedEvents(query, expired, signal);
  if (parked > 0) logger.info({ count: parked }, 'parked events dismissed');
}
