import type { Query } from '../postgres/database.ts';
import {
  acquireLease,
  completeJob,
  type LeaseHolder,
  releaseLease,
  saveProgress,
} from '../queries/leased-jobs.ts';
import { Stopped } from '../runtime/retry.ts';

/** A walk that nobody else is at. */
export type LeasedRun = {
  /** What was noted last; `null` at the first time. */
  readonly progress: unknown;
  /** Notes how far it is. @throws Stopped when somebody else has gone on with it meanwhile */
  saveProgress(progress: object): Promise<void>;
  /** Notes that it is at its end. */
  complete(progress: object): Promise<void>;
};

/** Longer than a page takes, in spite of all patience. Then another instance goes on. */
const LEASE_MS = 120_000;

/**
 * Goes on with a walk that is due: when the last one began longer ago than `dueAfterMs`, or has not
 * ended. Returns whether there was anything to do for us.
 */
export async function withLease(
  query: Query,
  { dueAfterMs, ...walker }: LeaseHolder & { readonly dueAfterMs: number },
  work: (walk: LeasedRun) => Promise<void>,
): Promise<boolean> {
  const taken = await acquireLease(query, walker, { dueAfterMs, leaseMs: LEASE_MS });
  if (taken === null) return false;
  try {
    await work({
      progress: taken.progress,
      async saveProgress(progress) {
        const isOurs = await saveProgress(query, walker, { progress, leaseMs: LEASE_MS });
        if (!isOurs) throw new Stopped();
      },
      complete: (progress) => completeJob(query, walker, progress),
    });
  } finally {
    await releaseLease(query, walker);
  }
  return true;
}
