import { DatabaseUnavailable, DatabaseUnusable } from '../postgres/errors.ts';
import { withDeadline } from '../runtime/deadline.ts';

type WriteCheckOptions = {
  /** The time of the last commit of an event, by the same clock. */
  readonly lastCommitMs: () => number;
  /** Commits something without an effect. It has a deadline of its own. */
  readonly commit: () => Promise<void>;
  readonly clockMs: () => number;
};

/** After this time without a commit, a test commit is made. */
const IDLE_MS = 2_000;

/** A slow second must not take an instance out of service. */
const GRACE_MS = 5_000;

/** Shorter than a load balancer's timeout. */
const ANSWER_TIMEOUT_MS = 1_500;

const NOT_COMMITTED =
  'writes are not committed: check the disk, and that a standby of synchronous_standby_names is connected';

/**
 * Checks whether writes are committed: one was within the last few seconds, or a test commit succeeds now.
 * For example, a missing synchronous standby blocks every commit, but no read.
 *
 * The returned function rejects with DatabaseUnavailable when no write is committed.
 */
export function createWriteCheck(options: WriteCheckOptions): () => Promise<void> {
  const { lastCommitMs, commit, clockMs } = options;
  let committedAtMs = Number.NEGATIVE_INFINITY;
  let inFlight: Promise<void> | null = null;

  async function tryCommit(): Promise<void> {
    try {
      await commit();
    } catch (error) {
      // The role lacks permission for this check, which says nothing about other writes.
      if (!(error instanceof DatabaseUnusable)) throw error;
    } finally {
      inFlight = null;
    }
    committedAtMs = clockMs();
  }

  return async () => {
    const idleMs = clockMs() - Math.max(committedAtMs, lastCommitMs());
    if (idleMs < IDLE_MS) return;
    inFlight ??= tryCommit();
    // Its failure counts once the grace period is over.
    inFlight.catch(() => undefined);
    if (idleMs <= GRACE_MS) return;
    try {
      await withDeadline(inFlight, ANSWER_TIMEOUT_MS);
    } catch (cause) {
      throw new DatabaseUnavailable(NOT_COMMITTED, { cause });
    }
  };
}
