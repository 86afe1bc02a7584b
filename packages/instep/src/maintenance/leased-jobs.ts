import type { Query } from '../postgres/database.ts';

/** A leased job, and the instance that asks for its lease. */
export type LeaseHolder = { readonly name: string; readonly holder: string };

/** The state of a leased job. Times in milliseconds since 1970. */
export type LeasedJobState = {
  /** Whether an instance is running it. */
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

type LeaseOptions = {
  /**
   * The job is due when its last run started longer ago than this, or has not ended. Times that the server's
   * clock can't have reached are ignored, because it has been set back since.
   */
  readonly dueAfterMs: number;
  /** How long the lease lasts, unless it is extended. */
  readonly leaseMs: number;
};

/**
 * Takes the lease of a job that is due and that no other instance holds, and returns the progress of the last
 * run; `null` when there is none. It is a row and not an advisory lock, because such a lock belongs to a
 * connection, which PgBouncer shares in transaction mode.
 */
export async function acquireLease(
  query: Query,
  { name, holder }: LeaseHolder,
  { dueAfterMs, leaseMs }: LeaseOptions,
): Promise<{ progress: unknown } | null> {
  const [row] = await query<{ progress: unknown }>({
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
  return row ?? null;
}

/** Extends a lease, if it is still held. */
export async function renewLease(
  query: Query,
  { name, holder }: LeaseHolder,
  leaseMs: number,
): Promise<void> {
  await query({
    name: 'renew_lease',
    text: `
      update instep.leased_jobs
         set held_until = now() + $3 * interval '1 millisecond'
       where name = $1
         and holder = $2`,
    values: [name, holder, leaseMs],
  });
}

/** Saves the progress of a job, and extends its lease. Returns whether the lease was still held. */
export async function saveProgress(
  query: Query,
  { name, holder }: LeaseHolder,
  { progress, leaseMs }: { readonly progress: unknown; readonly leaseMs: number },
): Promise<boolean> {
  const rows = await query({
    name: 'save_progress',
    text: `
      update instep.leased_jobs
         set progress   = $3,
             held_until = now() + $4 * interval '1 millisecond'
       where name = $1
         and holder = $2
      returning name`,
    values: [name, holder, JSON.stringify(progress), leaseMs],
  });
  return rows.length > 0;
}

/** Saves the last progress of a job. Returns whether the lease was still held. */
export async function completeJob(
  query: Query,
  { name, holder }: LeaseHolder,
  progress: unknown,
): Promise<boolean> {
  const rows = await query({
    name: 'complete_job',
    text: `
      update instep.leased_jobs
         set progress = $3,
             ended_at = now()
       where name = $1
         and holder = $2
      returning name`,
    values: [name, holder, JSON.stringify(progress)],
  });
  return rows.length > 0;
}

/** Releases the lease, whether the job is complete or not. */
export async function releaseLease(query: Query, { name, holder }: LeaseHolder): Promise<void> {
  await query({
    name: 'release_lease',
    text: `
      update instep.leased_jobs
         set holder     = null,
             held_until = null
       where name = $1
         and holder = $2`,
    values: [name, holder],
  });
}
