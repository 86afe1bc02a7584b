// The checks of the database server. examine.ts calls them.

import { onlyRow, type Query } from 'instep-engine/postgres';
import { type Check, failure, ok, warning } from './check.ts';

const OLDEST_VERSION = 140_000;

/** The server's version, its durability and its encoding. */
export async function checkDatabaseServer(query: Query): Promise<Check[]> {
  const state = await readServerState(query);
  return [checkVersion(state), checkDurability(state), ...checkEncoding(state)];
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
