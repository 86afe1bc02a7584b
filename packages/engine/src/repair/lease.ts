// The lease of a job: by it, one instance at a time runs the job, from where the last run ended, and again after a pause if it
// failed. The jobs of maintenance, reconciliation, alerts and the consumers of changes have one.

import type { Query } from '../postgres/database.ts';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import { InstepError } from '../runtime/errors.ts';
import { Stopped } from '../runtime/retry.ts';
import { StripeApiFailed } from '../stripe/api-failure.ts';

/** A job, the instance that asks for its lease, and when it is due. */
type Lease = {
  name: string;
  holder: string;
  /**
   * The job is due when its last run started longer ago than this, or was not completed. `null`: it runs now, because a
   * person asks, who also reads why it failed.
   */
  dueAfterMs: number | null;
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
};

const LEASE_MS = 120_000;

/** The shortest pause of a job that failed. */
const FIRST_PAUSE_MS = 2_000;

/** The pause of a job whose key lacks a permission, which a retry does not change. */
const FORBIDDEN_PAUSE_MS = 60 * 60 * 1_000;

/** A lease is renewed so many times before it would end. */
const RENEWALS = 4;

/**
 * Runs a job that is due and that no other instance runs. Returns `null` when there is none. A job that fails is paused for as
 * long as it has been failing, within bounds. One that throws `Stopped` is to be continued.
 *
 * The lease is a row and not an advisory lock, because such a lock belongs to a connection, which
 * PgBouncer shares in transaction mode.
 *
 * @example
 * ```ts
 * await withLease(query, { name: 'catch-up', holder, dueAfterMs: 60_000 }, async (run) => {
 *   await run.saveProgress({ seenSeconds: 1_800_000_000 });
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

  try {
    const result = await work({
      progress: acquired.progress,
      async saveProgress(progress, within = query) {
        const saved = await save(within, lease, progress);
        if (saved.length === 0) throw new Stopped();
      },
    });
    await endRun(query, lease, null);
    return result;
  } catch (error) {
    const isFailure = !(error instanceof Stopped || error instanceof DatabaseUnavailable);
    const isReported = isFailure && lease.dueAfterMs !== null;
    // If that fails too, the lease ends by itself.
    await (isReported ? endRun(query, lease, error) : release(query, lease)).catch(() => undefined);
    throw error;
  } finally {
    clearInterval(renewing);
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
             started_at = now(),
             ended_at   = null
       where name = $1
         and (held_until is null
              or held_until < now()
              or held_until > now() + $3 * interval '1 millisecond' + interval '1 minute'
              or holder = $2)
         and ($4::double precision is null
              or (started_at is null
                  or ended_at is null
                  or started_at > now() + interval '1 minute'
                  or started_at < now() - $4 * interval '1 millisecond')
                 and (attempt_at is null
                      or attempt_at <= now()
                      or attempt_at > now() + interval '61 minutes'))
      returning progress`,
    values: [name, holder, leaseMs, dueAfterMs],
  });

/** Renews a lease. Returns no row if it is no longer held. */
const save = (query: Query, { name, holder, leaseMs = LEASE_MS }: Lease, progress?: object) =>
  query({
    name: 'save_progress',
    text: `
      update instep.leased_jobs
         set progress   = coalesce($3, progress),
             held_until = now() + $4 * interval '1 millisecond'
       where name = $1
         and holder = $2
      returning name`,
    values: [name, holder, progress && JSON.stringify(progress), leaseMs],
  });

/** Releases the lease. `error`: why the job failed; `null`: it is done. */
async function endRun(query: Query, { name, holder }: Lease, error: unknown): Promise<void> {
  const code = error instanceof InstepError ? error.code : 'other';
  const isForbidden = error instanceof StripeApiFailed && error.isForbidden;
  const pauseMs = isForbidden ? FORBIDDEN_PAUSE_MS : FIRST_PAUSE_MS;
  await query({
    name: 'end_run',
    text: `
      update instep.leased_jobs
         set holder        = null,
             held_until    = null,
             ended_at      = case when $3::text is null then now() end,
             failure_code  = $3,
             failing_since = case when $3 is not null then coalesce(failing_since, now()) end,
             failed_at     = case when $3 is not null then now() end,
             attempt_at    = case
                               when $3 is not null
                                 then now() + greatest(
                                        $4 * interval '1 millisecond',
                                        least(now() - coalesce(failing_since, now()), interval '1 minute')
                                      )
                             end
       where name = $1
         and holder = $2`,
    values: [name, holder, error === null ? null : code, pauseMs],
  });
}

/** Releases the lease of a job that is to be continued. */
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

/** Lets the jobs that failed run again at once: a process that has just started can have another key, or another version. */
export async function endPauses(query: Query): Promise<void> {
  const text = 'update instep.leased_jobs set attempt_at = now() where attempt_at > now()';
  await query({ name: 'end_pauses', text });
}
