import type { Query } from '../postgres/database.ts';

/** Who asks for which walk. */
export type LeaseHolder = { readonly name: string; readonly holder: string };

/** How it stands with a walk. Times in milliseconds since 1970. */
export type LeasedJobState = {
  /** Whether somebody is at it now. */
  readonly isHeld: boolean;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly progress: unknown;
};

export async function readLeasedJob(query: Query, name: string): Promise<LeasedJobState | null> {
  const [row] = await query<LeasedJobState>(
    `select holder is not null and held_until >= now() as "isHeld",
            (extract(epoch from started_at) * 1000)::bigint as "startedAtMs",
            (extract(epoch from ended_at) * 1000)::bigint as "endedAtMs",
            progress
       from instep.leased_jobs
      where name = $1`,
    [name],
  );
  return row ?? null;
}

export type TakeOptions = {
  /** One is due when the last one began longer ago than this, or has not ended. */
  readonly dueAfterMs: number;
  /** For how long nobody else may have it, unless it is held longer by `keepWalk`. */
  readonly leaseMs: number;
};

/**
 * Takes a walk that is due and that nobody else is at, with the progress that was left there; `null`
 * when there is none. A lease in a row and no advisory lock: such a lock belongs to a connection,
 * and goes through no PgBouncer in transaction mode.
 */
export async function acquireLease(
  query: Query,
  { name, holder }: LeaseHolder,
  { dueAfterMs, leaseMs }: TakeOptions,
): Promise<{ progress: unknown } | null> {
  const [row] = await query<{ progress: unknown }>(
    `update instep.leased_jobs
        set holder     = $2,
            held_until = now() + $3 * interval '1 millisecond',
            started_at   = case when ended_at is null then coalesce(started_at, now()) else now() end,
            ended_at   = null
      where name = $1
        and (held_until is null or held_until < now() or holder = $2)
        and (started_at is null or ended_at is null
             or started_at < now() - $4 * interval '1 millisecond')
     returning progress`,
    [name, holder, leaseMs, dueAfterMs],
  );
  return row ?? null;
}

/** Notes how far a walk is, and goes on holding it. Returns whether nobody else has taken it. */
export async function saveProgress(
  query: Query,
  { name, holder }: LeaseHolder,
  { progress, leaseMs }: { readonly progress: unknown; readonly leaseMs: number },
): Promise<boolean> {
  const rows = await query(
    `update instep.leased_jobs
        set progress   = $3,
            held_until = now() + $4 * interval '1 millisecond'
      where name = $1
        and holder = $2
     returning name`,
    [name, holder, JSON.stringify(progress), leaseMs],
  );
  return rows.length > 0;
}

/** Notes that a walk has come to its end. */
export async function completeJob(
  query: Query,
  { name, holder }: LeaseHolder,
  progress: unknown,
): Promise<void> {
  await query(
    `update instep.leased_jobs
        set progress = $3,
            ended_at = now()
      where name = $1
        and holder = $2`,
    [name, holder, JSON.stringify(progress)],
  );
}

/** Lets others have a walk, wherever it is. */
export async function releaseLease(query: Query, { name, holder }: LeaseHolder): Promise<void> {
  await query(
    `update instep.leased_jobs
        set holder     = null,
            held_until = null
      where name = $1
        and holder = $2`,
    [name, holder],
  );
}
