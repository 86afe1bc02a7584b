import type { Query } from '../postgres/database.ts';
import { Stopped } from '../runtime/retry.ts';
import {
  acquireLease,
  completeJob,
  type LeaseHolder,
  releaseLease,
  renewLease,
  saveProgress,
} from './leased-jobs.ts';

/** A run of a job that no other instance runs at the same time. */
export type LeasedRun = {
  /** The progress that was saved last; `null` the first time. */
  readonly progress: unknown;
  /** Saves the progress, and renews the lease. @throws Stopped when another instance took it over */
  saveProgress(progress: object): Promise<void>;
  /** Saves the last progress: the job is done. @throws Stopped when another instance took it over */
  complete(progress: object): Promise<void>;
};

/** After this time without a renewal, another instance takes over: the process has ended or is frozen. */
const LEASE_MS = 120_000;

const RENEWAL_INTERVAL_MS = 30_000;

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
  // A failed renewal is tried again, and a lost lease is noticed when progress is saved.
  const renew = () => renewLease(query, holder, LEASE_MS).catch(() => undefined);
  const renewing = setInterval(renew, RENEWAL_INTERVAL_MS).unref();
  try {
    return await work({
      progress: lease.progress,
      async saveProgress(progress) {
        const isOurs = await saveProgress(query, holder, { progress, leaseMs: LEASE_MS });
        if (!isOurs) throw new Stopped();
      },
      async complete(progress) {
        if (!(await completeJob(query, holder, progress))) throw new Stopped();
      },
    });
  } finally {
    clearInterval(renewing);
    await releaseLease(query, holder);
  }
}
