// The checks of the database server. examine.ts calls them.

import { type DatabaseAddress, onlyRow, type Query, readEncryption } from 'instep-engine/postgres';
import { type Check, failure, ok, warning } from './check.ts';

const OLDEST_VERSION = 140_000;

/** The connection with the server's version, and its durability. */
export async function checkDatabaseServer(
  query: Query,
  address: DatabaseAddress | null,
): Promise<Check[]> {
  const { number, version, fsync } = await onlyRow<ServerState>(query, {
    name: 'read_server_state',
    text: `
      select current_setting('server_version_num')::integer as number,
             'PostgreSQL ' || current_setting('server_version') as version,
             current_setting('fsync') as fsync`,
  });
  if (number < OLDEST_VERSION) {
    return [failure('connection', `${version} is too old`, 'upgrade to version 14 or newer')];
  }
  const connection =
    address === null
      ? ok('connection', `${version}, embedded`)
      : checkConnection(version, address, await readEncryption(query));
  if (fsync !== 'off') return [connection];
  // A 200 promises that the event is stored permanently.
  const result = 'fsync is off: a crash of the machine can corrupt the database';
  const advice = 'set it to on, unless your provider stores the write-ahead log elsewhere';
  return [connection, warning('durability', result, advice)];
}

type ServerState = {
  /** Such as 140012 for 14.12. */
  readonly number: number;
  readonly version: string;
  readonly fsync: string;
};

/** A name without a dot is that of a private network. */
const IS_PRIVATE = /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|::1$|\/|[^.:]*$)/;

function checkConnection(
  version: string,
  { connection: { host = 'localhost', ssl } }: DatabaseAddress,
  protocol: string | null,
): Check {
  const name = 'connection';
  if (protocol === null) {
    const result = `${version} at ${host}, not encrypted`;
    if (IS_PRIVATE.test(host)) return ok(name, result);
    return warning(name, result, 'add sslmode=verify-full to DATABASE_URL');
  }
  const encrypted = `${version} at ${host}, encrypted (${protocol})`;
  const isVerified = typeof ssl !== 'object' || ssl.rejectUnauthorized !== false;
  if (isVerified) return ok(name, `${encrypted}, and its certificate verified`);
  const advice =
    "set DATABASE_CA to the issuer's certificate, and sslmode=verify-full in DATABASE_URL";
  return warning(name, `${encrypted}, but anybody can be the server`, advice);
}
