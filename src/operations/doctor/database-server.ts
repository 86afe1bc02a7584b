import type { Query } from '../../postgres/database.ts';
import { readServerState, type ServerState, touchServer } from '../../queries/server-state.ts';
import { type Check, failure, ok, warning } from './check.ts';
import { sizeOf } from './figures.ts';

/** The oldest PostgreSQL that Instep runs on. */
const OLDEST_VERSION = 140_000;

const SAMPLES = 5;

/** An event takes several round trips, a profile one. */
const SLOW_MS = 50;

const MINIMUM_FREE_BYTES = 256e6;
const LITTLE_FREE_BYTES = 1e9;

export type DatabaseServerOptions = {
  readonly query: Query;
  /** In milliseconds, since whenever. */
  readonly now: () => number;
  /** What is free on the disk of the embedded database; `null` for one of yours. */
  readonly freeBytes: number | null;
};

/** How the server answers, what it is, and what becomes of what it was told. */
export async function checkDatabaseServer(options: DatabaseServerOptions): Promise<Check[]> {
  const { query, now, freeBytes } = options;
  const state = await readServerState(query);
  return [
    checkLatency(await medianRoundTrip(query, now)),
    checkVersion(state),
    checkDurability(state),
    checkSpace(state.databaseBytes, freeBytes),
  ];
}

async function medianRoundTrip(query: Query, now: () => number): Promise<number> {
  const tripsMs: number[] = [];
  for (let count = 0; count < SAMPLES; count += 1) {
    const beganMs = now();
    await touchServer(query);
    tripsMs.push(now() - beganMs);
  }
  return tripsMs.sort((one, other) => one - other)[Math.floor(SAMPLES / 2)] ?? 0;
}

function checkLatency(roundTripMs: number): Check {
  const says = `answers within ${roundTripMs.toFixed(1)} ms`;
  if (roundTripMs < SLOW_MS) return ok('database', says);
  return warning('database', says, 'run Instep near it: each event takes several round trips');
}

export function checkVersion({
  versionNumber,
  version,
}: Pick<ServerState, 'versionNumber' | 'version'>): Check {
  if (versionNumber >= OLDEST_VERSION) return ok('PostgreSQL', version);
  return failure('PostgreSQL', `${version} is too old`, 'upgrade it to 14 or newer');
}

/** A 200 means that the event is stored for good: the server decides what that is worth. */
export function checkDurability({
  synchronousCommit,
  fsync,
}: Pick<ServerState, 'synchronousCommit' | 'fsync'>): Check {
  if (synchronousCommit === 'off') {
    const says = 'synchronous_commit is off: a crash loses events that were answered 200';
    return failure('durability', says, 'set it to on, for the role or the database of Instep');
  }
  if (fsync === 'off') {
    const says = 'fsync is off: a crash of the machine may lose everything';
    return warning(
      'durability',
      says,
      'set it to on, unless your provider keeps the log elsewhere',
    );
  }
  return ok('durability', 'what was committed is on the disk');
}

export function checkSpace(databaseBytes: number, freeBytes: number | null): Check {
  const taken = `the database takes ${sizeOf(databaseBytes)}`;
  if (freeBytes === null) return ok('disk space', `${taken}; its server knows what is free`);
  const says = `${taken}, ${sizeOf(freeBytes)} are free`;
  const whatToDo = 'make room: without any, events are answered 503 until there is';
  if (freeBytes < MINIMUM_FREE_BYTES) return failure('disk space', says, whatToDo);
  if (freeBytes < LITTLE_FREE_BYTES) return warning('disk space', says, whatToDo);
  return ok('disk space', says);
}
