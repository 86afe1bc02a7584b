// The checks of the database server. examine.ts calls them.

import { type DatabaseAddress, onlyRow, type Query, readEncryption } from 'instep-engine/postgres';
import { type Check, failure, ok, warning } from './check.ts';

const OLDEST_VERSION = 140_000;

/** The connection, and the server's version, its durability and its encoding. */
export async function checkDatabaseServer(
  query: Query,
  address: DatabaseAddress | null,
): Promise<Check[]> {
  const state = await readServerState(query);
  return [
    ...(address === null ? [] : [checkConnection(address, await readEncryption(query))]),
    checkVersion(state),
    checkDurability(state),
    ...checkEncoding(state),
  ];
}

/** A name without a dot is that of a private network. */
const IS_PRIVATE = /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|::1$|\/|[^.:]*$)/;

function checkConnection(
  { connection: { host = 'localhost', ssl } }: DatabaseAddress,
  protocol: string | null,
): Check {
  const name = 'connection';
  if (protocol === null) {
    const result = `to ${host} is not encrypted`;
    if (IS_PRIVATE.test(host)) return ok(name, result);
    return warning(name, result, 'add sslmode=verify-full to DATABASE_URL');
  }
  const encrypted = `to ${host} is encrypted (${protocol})`;
  const isVerified = typeof ssl !== 'object' || ssl.rejectUnauthorized !== false;
  if (isVerified) return ok(name, `${encrypted}, and its certificate verified`);
  const advice =
    "set DATABASE_CA to the issuer's certificate, and sslmode=verify-full in DATABASE_URL";
  return warning(name, `${encrypted}, but anybody can be the server`, advice);
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

type ServerState = {
  /** Such as 140012 for 14.12. */
  readonly versionNumber: number;
  readonly version: string;
  readonly fsync: string;
  readonly encoding: string;
};

async function readServerState(query: Query): Promise<ServerState> {
  return await onlyRow<ServerState>(query, {
    name: 'read_server_state',
    text: `
      select current_setting('server_version_num')::integer as "versionNumber",
             current_setting('server_version') as version,
             current_setting('fsync') as fsync,
             current_setting('server_encoding') as encoding`,
  });
}
