import { readAccess } from 'instep/src/access/team-access.ts';
import { findUsers } from 'instep-engine/src/http/user.ts';
import type { Query } from 'instep-engine/src/postgres/database.ts';
import { openInstepDatabase } from '../database/instep-database.ts';
import { percentile } from '../load/percentile.ts';
import { createInstep } from '../systems/instep.ts';
import { prepareSystem } from '../systems/prepared-system.ts';
import type { CompareOptions } from './compare.ts';
import { LOAD_TIMES, seedHistory } from './seed-history.ts';

/** How long a statement takes until its rows are there; 99 of 100 take at most `p99Ms`. */
type ReadTimes = { readonly p50Ms: number; readonly p99Ms: number };

/** How long the view `instep.team_access` takes, and what it is compared with. */
export type AccessTimes = {
  /** One call of `access()`. */
  readonly access: ReadTimes;
  /** A user of the same database, by its id, as `GET /api/user` reads it. */
  readonly profile: ReadTimes;
  /** `select 1`: what the connection, the machine and the measuring process take by themselves. */
  readonly nothing: ReadTimes;
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
  const size = { teams, users: teams };
  const { database } = await prepareSystem(createInstep(stripeApiBase), postgres, size);
  await seedHistory(database.ask, { events, teams, ...LOAD_TIMES }, (logged) =>
    print(`${logged.toLocaleString('en')} events in the log`),
  );
  return await measureAccess(database.url, teams);
}

/** Reads teams and users in different places of their tables, one after another, and then all teams at once. */
async function measureAccess(databaseUrl: string, teams: number): Promise<AccessTimes> {
  const { query, close } = openInstepDatabase(databaseUrl);
  const reads = readsBy(query);
  const times = reads.map(() => new Float64Array(LOOKUPS));
  try {
    for (let index = 0; index < LOOKUPS; index += 1) {
      const id = ((index * 7_919) % teams) + 1;
      // In turn, so that whatever else the machine does delays all of them alike.
      for (const [place, read] of reads.entries()) {
        const startedMs = performance.now();
        const isFound = await read(id);
        const tookMs = performance.now() - startedMs;
        if (!isFound) throw new RangeError(`team or user ${id} is not as it should be`);
        times[place]?.fill(tookMs, index, index + 1);
      }
    }
    const startedMs = performance.now();
    await query('select count(*) filter (where has_access), max(ends_at) from instep.team_access');
    const eachMs = (performance.now() - startedMs) / teams;
    const [access, profile, nothing] = times.map(readTimesOf);
    if (!access || !profile || !nothing) throw new RangeError('nothing was read');
    return { access, profile, nothing, eachMs };
  } finally {
    await close();
  }
}

/** Each tells whether it found what it should. */
const readsBy = (query: Query): ((id: number) => Promise<boolean>)[] => [
  async (id) => (await readAccess(query, id))?.hasAccess === true,
  async (id) => (await findUsers(query, [id]))[0] !== null,
  async () => (await query({ name: 'nothing', text: 'select 1' })).length === 1,
];

function readTimesOf(times: Float64Array): ReadTimes {
  const sorted = times.toSorted();
  return { p50Ms: percentile(sorted, 50), p99Ms: percentile(sorted, 99) };
}
