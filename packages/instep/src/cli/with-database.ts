// Connects commands to the configured database server. Those that act or search use `with-context.ts`.

import { existsSync } from 'node:fs';
import type { Database, DatabaseServer, PoolOptions, PrepareOptions } from 'instep-engine/postgres';
import { ConfigInvalid, readPart } from '../config/config.ts';
import { connectToServer, prepareDatabase } from '../database/connect.ts';
import { importEmbeddedPostgres } from '../database/embedded-postgres.ts';
import { printMessage } from './output.ts';

const STATEMENT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 4;

export const onConnectionError = (error: Error) =>
  printMessage(`database connection lost: ${error.message}`);

/** Runs work on the configured database server, and releases the server afterward. */
export async function withServer<Result>(
  work: (server: DatabaseServer) => Promise<Result>,
): Promise<Result> {
  const database = readPart('database', process.env);
  const server = await connectToServer({ ...database, notice: printMessage });
  try {
    return await work(server);
  } finally {
    await server.release();
  }
}

/** Whether there is a database: an embedded one is in the folder once a server or a command has created it. */
export async function hasDatabase(): Promise<boolean> {
  const { address, dataFolder } = readPart('database', process.env);
  if (address !== null) return true;
  return existsSync(dataFolder) && (await importEmbeddedPostgres()).hasDataDirectory(dataFolder);
}

/** @throws ConfigInvalid if there is no database: a command that only reads creates none */
export async function requireDatabase(): Promise<void> {
  if (await hasDatabase()) return;
  const { dataFolder } = readPart('database', process.env);
  const problem = `is missing, and there is no database in ${dataFolder}`;
  const remedy = "set it to the URL of your app's PostgreSQL";
  throw new ConfigInvalid([{ variable: 'DATABASE_URL', problem, remedy }]);
}

/** Migrates the server's database. Returns the migrations that it ran. */
export function migrateOn(
  server: DatabaseServer,
  options: Omit<PrepareOptions, 'features' | 'onConnectionError'> = {},
): Promise<string[]> {
  return prepareDatabase(server, { onConnectionError, ...options });
}

type Work<Result> = (database: Database, server: DatabaseServer) => Promise<Result>;

/** Runs work on the configured database, whether it is migrated or not. An embedded one is migrated first. */
export function withDatabase<Result>(work: Work<Result>): Promise<Result> {
  return withServer(async (server) => {
    if (server.isEmbedded) await migrateOn(server);
    return await onDatabase(server, work);
  });
}

/** Runs work on the server's database as it is. */
export async function onDatabase<Result>(
  server: DatabaseServer,
  work: Work<Result>,
  options: Partial<PoolOptions> = {},
): Promise<Result> {
  const database = server.open({
    maxConnections: MAX_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onConnectionError,
    ...options,
  });
  try {
    return await work(database, server);
  } finally {
    await database.close();
  }
}
