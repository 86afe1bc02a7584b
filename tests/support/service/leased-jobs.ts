import { withLease } from 'instep/src/maintenance/lease.ts';
import { countTeams } from 'instep/src/maintenance/team-counts.ts';
import type { Query } from 'instep/src/postgres/database.ts';

/** Counts the teams as the job does, whether or not it is due. */
export async function countTeamsNow(query: Query): Promise<void> {
  const lease = { name: 'team-counts', holder: 'test', dueAfterMs: 0 };
  const { signal } = new AbortController();
  await withLease(query, lease, (run) => countTeams(run, { query, now: Date.now }, signal));
}

/** Makes the last count of the teams appear to be from this time, in milliseconds since 1970. */
export async function setTeamsCountedAt(query: Query, atMs: number): Promise<void> {
  await query(
    `update instep.leased_jobs
        set progress = jsonb_set(progress, '{countedAtMs}', to_jsonb($1::bigint))
      where name = 'team-counts'`,
    [atMs],
  );
}
