import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { atEndOfFile } from '../end-of-file.ts';
import {
  type Database,
  type DatabaseOptions,
  MIGRATIONS,
  migrate,
  newestVersion,
  openDatabase,
  parseDatabaseUrl,
} from '../internals/database.ts';
import { DATABASE_PASSWORD } from '../secrets/test-secrets.ts';
import { TEMPLATE } from './template.ts';

export type TestServer = { readonly name: string; readonly url: string };

/** The servers that database tests run on, the embedded one first. */
export const postgresServers: readonly TestServer[] = inject('postgresServers');

export const embeddedServer = postgresServers[0] as TestServer;

/** A new, empty database. */
export async function createEmptyDatabase(server: TestServer = embeddedServer): Promise<URL> {
  return await copyDatabase(server, 'template1');
}

async function copyDatabase(server: TestServer, template: string): Promise<URL> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`create database ${name} template ${template}`);
  await client.end();
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  // The server trusts every connection to its socket, so the password is ignored.
  url.searchParams.set('password', DATABASE_PASSWORD);
  return url;
}

/** Connections to the database of this URL, which end with the test file at the latest. */
export function connect(url: URL, options: Partial<DatabaseOptions> = {}): Database {
  const database = openDatabase({
    connection: parseDatabaseUrl(url.href).connection,
    maxConnections: 10,
    statementTimeoutMs: 10_000,
    onConnectionError: () => undefined,
    ...options,
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= database.close();
    return closed;
  };
  atEndOfFile(close);
  return { ...database, close };
}

/**
 * Migrates a database as a newer version would: with a migration that this version is compatible with, or
 * with one that it is not.
 */
export async function migrateByNewer(
  database: Database,
  kind: 'additive' | 'breaking',
  sql = 'create table instep.tomorrow (id integer)',
) {
  const version = newestVersion() + 1;
  const compatibleFrom = kind === 'additive' ? newestVersion() : version;
  const newer = { owner: 'engine', version, name: 'tomorrow', sql, compatibleFrom };
  return await migrate(database, { migrations: [...MIGRATIONS, newer] });
}

/** Undoes the newer version's migration. */
export async function undoNewer(
  { query }: Database,
  sql = 'drop table instep.tomorrow',
): Promise<void> {
  await query(sql);
  await query(`delete from instep.migrations where name = 'tomorrow'`);
}

/** A new database with Instep's tables, for processes that connect by themselves. */
export async function createMigratedDatabase(server: TestServer = embeddedServer): Promise<URL> {
  return await copyDatabase(server, TEMPLATE);
}

/** A new database with Instep's tables. */
export async function createDatabase(
  server?: TestServer,
): Promise<{ url: URL; database: Database }> {
  const url = await createMigratedDatabase(server);
  return { url, database: connect(url) };
}
