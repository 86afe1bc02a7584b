import type { Ask } from '../database/bench-postgres.ts';
import { percentile } from '../load/percentile.ts';

/** How long the view `instep.team_access` takes. */
export type AccessTimes = {
  /** One select for one team; 99 of 100 take less. */
  readonly oneMs: number;
  /** A select of all teams, for each of them. */
  readonly eachMs: number;
};

const LOOKUPS = 5_000;

/** Reads the access of random teams one after another, and then of all teams at once. */
export async function measureAccess(ask: Ask, teams: number): Promise<AccessTimes> {
  const times = new Float64Array(LOOKUPS);
  for (let index = 0; index < LOOKUPS; index += 1) {
    const teamId = ((index * 7_919) % teams) + 1;
    const startedMs = performance.now();
    const rows = await ask('select * from instep.team_access where team_id = $1', [teamId]);
    times[index] = performance.now() - startedMs;
    if (rows[0]?.has_access !== true) throw new RangeError(`team ${teamId} has no access`);
  }
  const startedMs = performance.now();
  await ask('select count(*) filter (where has_access), max(ends_at) from instep.team_access');
  const eachMs = (performance.now() - startedMs) / teams;
  return { oneMs: percentile(times.sort(), 99), eachMs };
}
