import type { Query } from '../database/database.ts';
import type { Logger } from '../logging.ts';
import { claimPruning } from '../store/prune-events.ts';
import { pruneLog } from './prune-log.ts';

export type RetentionOptions = {
  readonly query: Query;
  readonly retentionMs: number;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
};

/** Prunes from the log what is older than it is to be, once an hour in one of the instances. */
export async function keepRetention(
  { query, retentionMs, now, logger }: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!(await claimPruning(query))) return;
  const count = await pruneLog({ query, cutoffMs: now() - retentionMs }, signal);
  if (count > 0) logger.info({ count }, 'log pruned');
}
