import { readAccess } from 'instep/src/access/team-access.ts';
import { openInstepDatabase } from '../database/instep-database.ts';
import { percentile } from '../load/percentile.ts';

/** How long the view `instep.team_access` takes. */
export type AccessTimes = {
  /** One call of `access()`; 99 of 100 take less. */
  readonly oneMs: number;
  /** A select of all teams, for each of them. */
  readonly eachMs: number;
};

const LOOKUPS = 5_000;

/** Reads the access of teams in different places of the table one after another, and then of all teams at once. */
export async function measureAccess(databaseUrl: string, teams: number): Promise<AccessTimes> {
  const { query, close } = openInstepDatabase(databaseUrl);
  try {
    const times = new Float64Array(LOOKUPS);
    for (let index = 0; index < LOOKUPS; index += 1) {
      const teamId = ((index * 7_919) % teams) + 1;
      const startedMs = performance.now();
      const access = await readAccess(query, teamId);
      times[index] = performance.now() - startedMs;
      if (access?.hasAccess !== true) throw new RangeError(`team ${teamId} has no access`);
    }
    const startedMs = performance.now();
    await query('select count(*) filter (where has_access), max(ends_at) from instep.team_access');
    const eachMs = (performance.now() - startedMs) / teams;
    return { oneMs: percentile(times.sort(), 99), eachMs };
  } finally {
    await close();
  }
}
