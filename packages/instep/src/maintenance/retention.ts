import { dismissParkedEvents } from '../event-log/dismiss.ts';
import { pruneLog } from '../event-log/prune.ts';
import { claimPruning } from '../event-log/prune-events.ts';
import type { Query } from '../postgres/database.ts';
import type { Logger } from '../runtime/logging.ts';

type RetentionOptions = {
  readonly query: Query;
  readonly retentionMs: number;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
};

/**
 * Deletes events older than the retention from the log once an hour, in one of the instances. This includes
 * parked events of customers who never had a team.
 */
export async function pruneExpiredEvents(
  { query, retentionMs, now, logger }: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!(await claimPruning(query))) return;
  const cutoffMs = now() - retentionMs;
  const count = await pruneLog({ query, cutoffMs }, signal);
  if (count > 0) logger.info({ count }, 'event log pruned');
  // Without its parked events the state of a known customer is outdated, and a team can get that customer
  // again.
  const expired = { receivedBeforeMs: cutoffMs, isCustomerUnknown: true };
  const parked = await dismissParkedEvents(query, expired, signal);
  if (parked > 0) logger.info({ count: parked }, 'parked events dismissed');
}
