// Which jobs fail, as the engine's worker has stored it.

import type { Query } from 'instep-engine/postgres';

/** A job whose last run failed, and when it is tried again. Times are in milliseconds since 1970. */
export type FailedJob = {
  readonly job: string;
  /** The code of the error; `other` for an unexpected one. */
  readonly code: string;
  /** The first of the failures in a row. */
  readonly sinceMs: number;
  readonly attemptAtMs: number;
};

/**
 * The jobs that keep failing, or that pause after a failure. Left out are those that another process has completed
 * since, and those that nobody has tried again when it was time.
 */
export async function readFailedJobs(query: Query): Promise<FailedJob[]> {
  return await query<FailedJob>({
    name: 'read_failed_jobs',
    text: `
      select name as job,
             failure_code as code,
             (extract(epoch from failing_since) * 1000)::bigint as "sinceMs",
             (extract(epoch from attempt_at) * 1000)::bigint as "attemptAtMs"
        from instep.leased_jobs
       where attempt_at > now() - interval '10 minutes'
         and (failing_since < now() - interval '1 minute'
              or attempt_at > failed_at + interval '1 minute')
         and (ended_at is null or ended_at <= failed_at or name not in ('catch-up', 'reconcile'))
       order by name`,
  });
}
