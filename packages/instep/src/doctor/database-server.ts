// The checks of the database server. examine.ts calls them.

import type { Query } from '../postgres/database.ts';
import { onlyRow } from '../postgres/statement.ts';
import { type Check, failure, ok, warning } from './check.ts';
import { type ClockReading, checkDatabaseClock } from './clock.ts';

const OLDEST_VERSION = 140_000;

const SAMPLES = 5;

/** An event takes several round trips, a profile one. */
const SLOW_MS = 50;

const MINIMUM_FREE_BYTES = 256e6;
const LOW_FREE_BYTES = 1e9;

type DatabaseServerOptions = {
  query: Query;
  now: () => number;
  /** The free space on the disk of the embedded database; `null` for any other database. */
  freeBytes: number | null;
  /** `null` when Stripe's API gave no answer. */
  stripeClock: ClockReading | null;
};

/** How fast the server answers, its version, its durability and its disk. */
export async function checkDatabaseServer(options: DatabaseServerOptions): Promise<Check[]> {
  const { query, now, freeBytes, stripeClock } = options;
  // The first statement has to connect.
  await touchServer(query);
  const sentAtMs = now();
  const state = await readServerState(query);
  const clock = { sentAtMs, receivedAtMs: now(), answeredAtMs: state.clockMs };
  return [
    checkLatency(await fastestRoundTrip(query, now)),
    checkVersion(state),
    checkDurability(state),
    ...checkEncoding(state),
    checkDatabaseClock(clock, stripeClock),
    checkSpace(state.databaseBytes, freeBytes),
  ];
}

/** The fastest round trip shows the distance; anything more is momentary load. */
async function fastestRoundTrip(query: Query, now: () => number): Promise<number> {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let count = 0; count < SAMPLES; count += 1) {
    const sentAtMs = now();
    await touchServer(query);
    fastestMs = Math.min(fastestMs, now() - sentAtMs);
  }
  return fastestMs;
}

function checkLatency(roundTripMs: number): Check {
  const result = `answered in ${roundTripMs.toFixed(1)} ms`;
  if (roundTripMs < SLOW_MS) return ok('database', result);
  const slow = `${result}, and each event takes several round trips`;
  return warning('database', slow, 'run Instep closer to it');
}

export function checkVersion({
  versionNumber,
  version,
}: Pick<ServerState, 'versionNumber' | 'version'>): Check {
  if (versionNumber >= OLDEST_VERSION) return ok('PostgreSQL', version);
  return failure('PostgreSQL', `${version} is too old`, 'upgrade to version 14 or newer');
}

/** Response 200 promises that the event is stored permanently, which this setting can break. */
export function checkDurability({ fsync }: Pick<ServerState, 'fsync'>): Check {
  if (fsync === 'off') {
    const result = 'fsync is off: a crash of the machine can corrupt the database';
    const advice = 'set it to on, unless your provider stores the write-ahead log elsewhere';
    return warning('durability', result, advice);
  }
  return ok('durability', 'a commit is on disk before it is confirmed');
}

/** Stripe's texts are Unicode. */
export function checkEncoding({ encoding }: Pick<ServerState, 'encoding'>): Check[] {
  if (encoding === 'UTF8') return [];
  const result = `the database's encoding is ${encoding}: plan names with other characters are left out`;
  return [warning('encoding', result, 'move to a database with the encoding UTF8')];
}

export function checkSpace(databaseBytes: number, freeBytes: number | null): Check {
  const used = `the database takes up ${sizeOf(databaseBytes)}`;
  if (freeBytes === null) return ok('disk space', used);
  const result = `${used}; ${sizeOf(freeBytes)} is free`;
  const advice = 'free some space: while the disk is full, events get a 503';
  if (freeBytes < MINIMUM_FREE_BYTES) return failure('disk space', result, advice);
  if (freeBytes < LOW_FREE_BYTES) return warning('disk space', result, advice);
  return ok('disk space', result);
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `12 MB` */
export function sizeOf(bytes: number): string {
  const exponent = Math.min(Math.floor(Math.log10(Math.max(1, bytes)) / 3), UNITS.length - 1);
  const count = bytes / 1_000 ** exponent;
  return `${count.toFixed(count < 10 && exponent > 0 ? 1 : 0)} ${UNITS[exponent]}`;
}

type ServerState = {
  /** Such as 140012 for 14.12. */
  readonly versionNumber: number;
  readonly version: string;
  readonly fsync: string;
  readonly encoding: string;
  readonly databaseBytes: number;
  readonly clockMs: number;
};

async function readServerState(query: Query): Promise<ServerState> {
  return await onlyRow<ServerState>(query, {
    name: 'read_server_state',
    text: `
      select current_setting('server_version_num')::integer as "versionNumber",
             current_setting('server_version') as version,
             current_setting('fsync') as fsync,
             current_setting('server_encoding') as encoding,
             pg_database_size(current_database()) as "databaseBytes",
             (extract(epoch from clock_timestamp()) * 1000)::bigint as "clockMs"`,
  });
}

async function touchServer(query: Query): Promise<void> {
  await query({ name: 'touch_server', text: 'select' });
}
