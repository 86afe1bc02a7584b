import type { BenchDatabase, BenchPostgres } from '../database/bench-postgres.ts';
import type { EventMix } from '../load/job.ts';
import type { SignedIn, Size, System } from './system.ts';

/** A system with its database, for all rounds. */
export type PreparedSystem = {
  readonly system: System;
  readonly database: BenchDatabase;
  readonly teams: number;
  readonly signedIn: readonly SignedIn[];
  /** The events that its database receives. */
  readonly mix: EventMix;
  /** The number of deliveries sent, which is the number of the next one. */
  eventsSent: number;
};

/** The number of users who are signed in and read their profiles. */
const SIGNED_IN = 2_000;

/** Creates a system's database with tables, teams and users. */
export async function prepareSystem(
  system: System,
  postgres: BenchPostgres,
  size: Size,
  {
    databaseName = system.name,
    mix = 'changes',
  }: { readonly databaseName?: string; readonly mix?: EventMix } = {},
): Promise<PreparedSystem> {
  const database = await postgres.create(databaseName);
  await system.prepare(database.url, database.ask, size);
  const signedIn = (await system.profiles?.signIn(someOf(size.users))) ?? [];
  return { system, database, teams: size.teams, signedIn, mix, eventsSent: 0 };
}

/** Users that are evenly distributed from the first to the last. */
function someOf(users: number): number[] {
  const count = Math.min(SIGNED_IN, users);
  return Array.from({ length: count }, (_, index) => 1 + Math.floor((index * users) / count));
}
