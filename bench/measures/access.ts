import { readAccess } from 'instep/src/access/team-access.ts';
import { openInstepDatabase } from '../database/instep-database.ts';
import { percentile } from '../load/percentile.ts';
import { createInstep } from '../systems/instep.ts';
import { prepareSystem } from '../systems/prepared-system.ts';
import type { CompareOptions } from './compare.ts';
import { LOAD_TIMES, seedHistory } from './seed-history.ts';

/** How long the view `instep.team_access` takes. */
export type AccessTimes = {
  /** One call of `access()`; 99 of 100 take less. */
  readonly oneMs: number;
  readonly oneMedianMs: number;
  /** A select of all teams, for each of them. */
  readonly eachMs: number;
};

const LOOKUPS = 5_000;

/** Fills a database with teams and a long log, and measures the view on it. */
export async function measureAccessOf(
  { options, postgres, stripeApiBase }: Omit<CompareOptions, 'onSample'>,
  print: (text: string) => void,
): Promise<AccessTimes> {
  const { events, teams } = options;
  const size = { teams, users: 1 };
  const { database } = await prepareSystem(createInstep(stripeApiBase), postgres, size);
  await seedHistory(database.ask, { events, teams, ...LOAD_TIMES }, (logged) =>
    print(`${logged.toLocaleString('en')} events in the log`),
  );
  return await measureAccess(database.url, teams);
}

/** Reads the access of teams in different places of the table one after another, and then of all teams at once. */
async function measureAccess(databaseUrl: string, teams: number): Promise<AccessTimes> {
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
    const [oneMs, oneMedianMs] = [percentile(times.sort(), 99), percentile(times, 50)];
    return { oneMs, oneMedianMs, eachMs };
  } finally {
    await close();
  }
}
