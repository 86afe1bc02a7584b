// When which version was running, and by which policy of access, for the health.

import { policyText } from '../access/team-access.ts';
import type { AccessPolicy } from '../config/config.ts';
import type { Query } from '../postgres/database.ts';
import { VERSION } from '../runtime/packages.ts';
import type { Job } from './worker.ts';

/** An instance that was not seen for longer was down. */
export const MAX_UNSEEN_MS = 60_000;

const KEPT = `interval '15 days'`;

type StoredRun = {
  /** `null` at first. */
  readonly runId: string | null;
  readonly version: string;
  /**
   * `null`: Instep works on demand. Then nothing tells when the app stops, so all its processes of a version have one
   * run, and it counts as running for as long as runs are kept.
   */
  readonly accessPolicy: string | null;
};

/**
 * Records that the instance of this run is running, and returns the run: a new one if there is none yet, or
 * if the instance could not reach the database for too long.
 */
export async function storeInstanceRun(query: Query, run: StoredRun): Promise<string | null> {
  const [row] = await query<{ runId: string }>({
    name: 'store_run',
    text: `
      with seen as (
        update instep.runs
           set seen_at = now() + $5 * ${KEPT}
         where (run_id = $1 and seen_at >= now() - $3 * interval '1 millisecond')
            or ($5 = 1 and access_policy is null and version = $2 and seen_at > now())
        returning run_id
      ), begun as (
        insert into instep.runs (version, access_policy, seen_at)
        select $2, $4, now() + $5 * ${KEPT}
         where not exists (select from seen)
        returning run_id
      ), forgotten as (
        delete from instep.runs
         where seen_at < now() - ${KEPT}
           and exists (select from begun)
      )
      select run_id as "runId" from seen
       union all
      select run_id from begun`,
    values: [
      run.runId,
      run.version,
      MAX_UNSEEN_MS,
      run.accessPolicy,
      run.accessPolicy === null ? 1 : 0,
    ],
  });
  return row?.runId ?? null;
}

/** Shorter than the time after which an instance counts as down, so that one delay is no stop. */
const INTERVAL_MS = 20_000;

/** Records when this instance was running. `null`: it works on demand. */
export function createInstanceRunsJob(query: Query, policy: AccessPolicy | null): Job {
  const accessPolicy = policy === null ? null : policyText(policy);
  let runId: string | null = null;
  return {
    name: 'runs',
    intervalMs: INTERVAL_MS,
    run: async () => {
      runId = await storeInstanceRun(query, { runId, version: VERSION, accessPolicy });
    },
  };
}
