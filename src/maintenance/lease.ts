import type { Query } from '../postgres/database.ts';
import {
  acquireLease,
  completeJob,
  type LeaseHolder,
  releaseLease,
  saveProgress,
} from '../queries/leased-jobs.ts';
import { Stopped } from '../runtime/retry.ts';

/** A run of a job that no other instance runs at the same time. */
export type LeasedRun = {
  /** The progress that was saved last; `null` the first time. */
  readonly progress: unknown;
  /** Saves the progress, and renews the lease. @throws Stopped when another instance took it over */
  saveProgress(progress: object): Promise<void>;
  /** Saves the last progress: the job is done. */
  complete(progress: object): Promise<void>;
};

/** After this time another instance takes over. It is longer than a page takes with all its retries. */
const LEASE_MS = 120_000;

/**
 * Runs a job when it is due: when its last run started longer ago than `dueAfterMs`, or was not
 * completed. Returns `null` when it is not due, or another instance runs it.
 */
export async function withLease<Result>(
  query: Query,
  { dueAfterMs, ...holder }: LeaseHolder & { readonly dueAfterMs: number },
  work: (run: LeasedRun) => Promise<Result>,
): Promise<Result | null> {
  const lease = await acquireLease(query, holder, { dueAfterMs, leaseMs: LEASE_MS });
  if (lease === null) return null;
  try {
    return await work({
      progress: lease.progress,
      async saveProgress(progress) {
        const isOurs = await saveProgress(query, holder, { progress, leaseMs: LEASE_MS });
        if (!isOurs) throw new Stopped();
      },
      complete: (progress) => completeJob(query, holder, progress),
    });
  } finally {
    await releaseLease(query, holder);
  }
}
