import type { Query } from '../postgres/database.ts';
import { endWalk, keepWalk, leaveWalk, takeWalk, type Walker } from '../queries/leased-jobs.ts';
import { Stopped } from '../stripe/retry.ts';

/** A walk that nobody else is at. */
export type Walk = {
  /** What was noted last; `null` at the first time. */
  readonly progress: unknown;
  /** Notes how far it is. @throws Stopped when somebody else has gone on with it meanwhile */
  keep(progress: object): Promise<void>;
  /** Notes that it is at its end. */
  end(progress: object): Promise<void>;
};

/** Longer than a page takes, in spite of all patience. Then another instance goes on. */
const LEASE_MS = 120_000;

/**
 * Goes on with a walk that is due: when the last one began longer ago than `dueAfterMs`, or has not
 * ended. Returns whether there was anything to do for us.
 */
export async function takeTurn(
  query: Query,
  { dueAfterMs, ...walker }: Walker & { readonly dueAfterMs: number },
  work: (walk: Walk) => Promise<void>,
): Promise<boolean> {
  const taken = await takeWalk(query, walker, { dueAfterMs, leaseMs: LEASE_MS });
  if (taken === null) return false;
  try {
    await work({
      progress: taken.progress,
      async keep(progress) {
        const isOurs = await keepWalk(query, walker, { progress, leaseMs: LEASE_MS });
        if (!isOurs) throw new Stopped('another instance goes on with it');
      },
      end: (progress) => endWalk(query, walker, progress),
    });
  } finally {
    await leaveWalk(query, walker);
  }
  return true;
}
