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

/** Deletes events older than the retention from the log, once an hour in one of the instances. */
export async function pruneExpiredEvents(
  { query, retentionMs, now, logger }: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!(await claimPruning(query))) return;
  const count = await pruneLog({ query, cutoffMs: now() - retentionMs }, signal);
  if (count > 0) logger.info({ count }, 'event log pruned');
}
