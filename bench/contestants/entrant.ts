import type { BenchDatabase, BenchPostgres } from '../database/bench-postgres.ts';
import type { Contestant, SignedIn, Size } from './contestant.ts';

/** A contestant with its database, from the first round to the last. */
export type Entrant = {
  readonly contestant: Contestant;
  readonly database: BenchDatabase;
  readonly teams: number;
  readonly signedIn: readonly SignedIn[];
  /** How many events were sent so far; the next one has this number. */
  eventsSent: number;
};

/** How many users are signed in, and ask for their profiles. */
const SIGNED_IN = 2_000;

/** Gives a contestant a database of its own, with its tables, teams and users. */
export async function enter(
  contestant: Contestant,
  postgres: BenchPostgres,
  size: Size,
  databaseName = contestant.name,
): Promise<Entrant> {
  const database = await postgres.create(databaseName);
  await contestant.prepare(database.url, database.ask, size);
  const signedIn = (await contestant.profiles?.signIn(someOf(size.users))) ?? [];
  return { contestant, database, teams: size.teams, signedIn, eventsSent: 0 };
}

/** Users from the first to the last, so that they lie as far apart as all of them do. */
function someOf(users: number): number[] {
  const count = Math.min(SIGNED_IN, users);
  return Array.from({ length: count }, (_, index) => 1 + Math.floor((index * users) / count));
}
