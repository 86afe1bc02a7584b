// The lease of a job: by it, one instance at a time runs the job, from where the last run ended. The jobs of maintenance,
// reconciliation, alerts and the consumers of changes have one.

import type { Query } from '../postgres/database.ts';
import { Stopped } from '../runtime/retry.ts';

/** A job, the instance that asks for its lease, and when it is due. */
type Lease = {
  name: string;
  holder: string;
  /** The job is due when its last run started longer ago than this, or was not completed. */
  dueAfterMs: number;
  /** After this time without a renewal, another instance takes over: the process has ended or is frozen. */
  leaseMs?: number;
};

/** A run of a job that no other instance runs at the same time. */
export type LeasedRun = {
  /** The progress that was saved last; `null` the first time. */
  readonly progress: unknown;
  /**
   * Saves the progress, and renews the lease. Within a transaction, give its `query`: the work is then
   * committed only while the lease is held.
   *
   * @throws Stopped when another instance took it over
   */
  saveProgress(progress: object, query?: Query): Promise<void>;
  /** Saves the last progress: the job is done. @throws Stopped when another instance took it over */
  complete(progress: object): Promise<void>;
};

const LEASE_MS = 120_000;

/** A lease is renewed so many times before it would end. */
const RENEWALS = 4;

/**
 * Runs a job that is due and that no other instance runs. Returns `null` when there is none.
 *
 * The lease is a row and not an advisory lock, because such a lock belongs to a connection, which
 * PgBouncer shares in transaction mode.
 *
 * @example
 * ```ts
 * await withLease(query, { name: 'catch-up', holder, dueAfterMs: 60_000 }, async (run) => {
 *   await run.complete({ seenSeconds: 1_800_000_000 });
 * });
 * ```
 */
export async function withLease<Result>(
  query: Query,
  lease: Lease,
  work: (run: LeasedRun) => Promise<Result>,
): Promise<Result | null> {
  const [acquired] = await acquire(query, lease);
  if (acquired === undefined) return null;
  // A failed renewal is tried again, and a lost lease is noticed when progress is saved.
  const renew = () => save(query, lease).catch(() => undefined);
  const renewing = setInterval(renew, (lease.leaseMs ?? LEASE_MS) / RENEWALS).unref();

  async function saveOrStop(progress: object, isDone: boolean, within = query): Promise<void> {
    const saved = await save(within, lease, progress, isDone);
    if (saved.length === 0) throw new Stopped();
  }

  try {
    return await work({
      progress: acquired.progress,
      saveProgress: (progress, within) => saveOrStop(progress, false, within),
      complete: (progress) => saveOrStop(progress, true),
    });
  } finally {
    clearInterval(renewing);
    await release(query, lease);
  }
}

/** Times that the server's clock can't have reached are ignored, because it has been set back since. */
const acquire = (query: Query, { name, holder, dueAfterMs, leaseMs = LEASE_MS }: Lease) =>
  query<{ progress: unknown }>({
    name: 'acquire_lease',
    text: `
      update instep.leased_jobs
         set holder     = $2,
             held_until = now() + $3 * interval '1 millisecond',
             started_at = case
                            when ended_at is null then coalesce(started_at, now())
                            else now()
                          end,
             ended_at   = null
       where name = $1
         and (held_until is null
              or held_until < now()
              or held_until > now() + $3 * interval '1 millisecond' + interval '1 minute'
              or holder = $2)
         and (started_at is null
              or ended_at is null
              or started_at > now() + interval '1 minute'
              or started_at < now() - $4 * interval '1 millisecond')
      returning progress`,
    values: [name, holder, leaseMs, dueAfterMs],
  });

/** Renews a lease. Returns no row if it is no longer held. */
const save = (
  query: Query,
  { name, holder, leaseMs = LEASE_MS }: Lease,
  progress?: object,
  isDone = false,
) =>
  query({
    name: 'save_progress',
    text: `
      update instep.leased_jobs
         set progress   = coalesce($3, progress),
             held_until = now() + $4 * interval '1 millisecond',
             ended_at   = case when $5 then now() else ended_at end
       where name = $1
         and holder = $2
      returning name`,
    values: [name, holder, progress && JSON.stringify(progress), leaseMs, isDone],
  });

/** Releases the lease, whether the job is complete or not. */
const release = (query: Query, { name, holder }: Lease) =>
  query({
    name: 'release_lease',
    text: `
      update instep.leased_jobs
         set holder     = null,
             held_until = null
       where name = $1
         and holder = $2`,
    values: [name, holder],
  });

type LeasedJobState = {
  readonly isHeld: boolean;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly progress: unknown;
};

export async function readLeasedJob(query: Query, name: string): Promise<LeasedJobState | null> {
  const [row] = await query<LeasedJobState>({
    name: 'read_leased_job',
    text: `
      select holder is not null and held_until >= now() as "isHeld",
             (extract(epoch from started_at) * 1000)::bigint as "startedAtMs",
             (extract(epoch from ended_at) * 1000)::bigint as "endedAtMs",
             progress
        from instep.leased_jobs
       where name = $1`,
    values: [name],
  });
  return row ?? null;
}
