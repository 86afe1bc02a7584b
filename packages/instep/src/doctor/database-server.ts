// The checks of the database server, and of each host that can be the primary. examine.ts calls them.

import { onServer } from '../postgres/connect.ts';
import type { Query } from '../postgres/database.ts';
import { hostOf } from '../postgres/database-url.ts';
import {
  type Ask,
  type ReplicationState,
  readReplicationState,
} from '../postgres/primary-finder.ts';
import { onlyRow } from '../postgres/statement.ts';
import { InstepError } from '../runtime/errors.ts';
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

export type Host = { readonly name: string; readonly answer: Replication | InstepError };

type Reached = { name: string; answer: Replication };

/**
 * Checks every host of `DATABASE_URL`: whether it can be reached, its role, its timeline and its standbys.
 */
export async function checkHosts(urls: readonly URL[]): Promise<Check[]> {
  return judgeHosts(await Promise.all(urls.map(readHost)));
}

async function readHost(url: URL): Promise<Host> {
  const name = hostOf(url);
  try {
    return { name, answer: await onServer(url, readReplication) };
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    return { name, answer: error };
  }
}

/** A single host is listed only if it has a problem that no other check finds. */
export function judgeHosts(hosts: readonly Host[]): Check[] {
  const reached = hosts.filter((host): host is Reached => !(host.answer instanceof InstepError));
  const primaries = reached.filter(({ answer }) => !answer.isStandby);
  const newest = primaries.toSorted((a, b) => timelineOf(b) - timelineOf(a))[0];
  const isOnlyHost = hosts.length === 1;
  return [
    ...(isOnlyHost ? [] : hosts.map((host) => describeHost(host, newest))),
    ...(isOnlyHost ? [] : checkTimelines(reached)),
    ...(new Set(primaries.map(({ answer }) => answer.startedAt)).size > 1
      ? [severalPrimaries(primaries)]
      : []),
    ...(newest === undefined ? [] : checkStandbys(newest.answer, isOnlyHost)),
  ];
}

const timelineOf = ({ answer }: Reached) => answer.timeline ?? 0;

function describeHost({ name, answer }: Host, primary: Reached | undefined): Check {
  if (answer instanceof InstepError) {
    const advice = "start it: until then, it can't take over from the primary";
    return warning('host', `${name} can't be reached: ${answer.message}`, advice);
  }
  const timeline = answer.timeline === null ? '' : `, timeline ${answer.timeline}`;
  if (!answer.isStandby) return ok('host', `${name} is a primary${timeline}`);
  if (primary === undefined) return ok('host', `${name} is a standby${timeline}`);
  const lagBytes = Math.max(0, primary.answer.positionBytes - answer.positionBytes);
  return ok('host', `${name} is a standby${timeline}, ${sizeOf(lagBytes)} behind`);
}

function checkTimelines(reached: readonly Reached[]): Check[] {
  const unreadable = reached.filter(({ answer }) => answer.timeline === null);
  const [first] = unreadable;
  if (first === undefined) return [];
  const names = unreadable.map(({ name }) => name).join(', ');
  const result = `${names}: ${first.answer.role} can't read the timeline, so an old primary isn't recognized`;
  return [warning('timeline', result, `as a superuser: ${GRANT} to ${first.answer.role};`)];
}

const GRANT =
  'grant execute on function pg_walfile_name(pg_lsn), pg_current_wal_lsn(), ' +
  'pg_control_system(), pg_control_checkpoint()';

function severalPrimaries(primaries: readonly Reached[]): Check {
  const names = primaries.map(({ name }) => name).join(' and ');
  const result = `${names} accept writes at the same time: what an old primary commits is lost`;
  return failure('host', result, 'stop the one with the older timeline');
}

function checkStandbys(primary: Replication, isOnlyHost: boolean): Check[] {
  const { synchronousNames, standbys, synchronousStandbys, seesStandbys, role } = primary;
  if (synchronousNames === '') {
    if (isOnlyHost) return [];
    const result = 'commits wait for no standby: the last events can be lost with the primary';
    return [warning('standby', result, 'set synchronous_standby_names on the primary')];
  }
  const setting = `synchronous_standby_names is ${synchronousNames}`;
  if (synchronousStandbys > 0)
    return [ok('standby', `${setting}, ${synchronousStandbys} of them connected`)];
  if (standbys > 0 && !seesStandbys) {
    const result = `${setting}, but ${role} can't see which standbys are connected`;
    return [warning('standby', result, `as a superuser: grant pg_read_all_stats to ${role};`)];
  }
  const result = `${setting}, and none of them is connected: no write is committed, and every event gets a 503`;
  return [failure('standby', result, 'start such a standby, or correct the names')];
}

/** The replication state of a server, whether primary or standby. */
export type Replication = ReplicationState & {
  /** When it started, which identifies it: with poolers, several hosts can lead to one server. */
  readonly startedAt: string;
  /** The position in the write-ahead log, in bytes, that it has written or, as a standby, replayed. */
  readonly positionBytes: number;
  /** `synchronous_standby_names`; empty when commits wait for no standby. */
  readonly synchronousNames: string;
  /** The number of standbys that are connected, and of those for which commits wait. */
  readonly standbys: number;
  readonly synchronousStandbys: number;
  readonly seesStandbys: boolean;
  /** In the syntax of `grant`. */
  readonly role: string;
};

const READ_REPLICATION = `
  select pg_postmaster_start_time()::text as "startedAt",
         (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end
           - '0/0')::double precision as "positionBytes",
         current_setting('synchronous_standby_names') as "synchronousNames",
         (select count(*)::integer from pg_stat_replication) as standbys,
         (select count(*)::integer
            from pg_stat_replication
           where sync_state in ('sync', 'quorum')) as "synchronousStandbys",
         pg_has_role('pg_read_all_stats', 'usage') as "seesStandbys",
         quote_ident(current_user) as role`;

async function readReplication(ask: Ask): Promise<Replication> {
  const state = await readReplicationState(ask);
  const [row] = await ask<Omit<Replication, keyof ReplicationState>>(READ_REPLICATION);
  if (row === undefined) throw new RangeError('a select without tables has one row');
  return { ...state, ...row };
}
