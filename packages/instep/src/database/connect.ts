// Finds the database server that the configuration names, and brings its schema up to date. The server, the handlers
// and the commands begin here.

import { existsSync } from 'node:fs';
import {
  type DatabaseAddress,
  type DatabasePool,
  type DatabaseServer,
  type PoolOptions,
  type PrepareOptions,
  prepareServer,
  type Query,
  serverAt,
  type WantedTables,
} from 'instep-engine/postgres';
import type { DatabaseConfig } from '../config/config.ts';
import { importEmbeddedPostgres, openEmbeddedPostgres } from './embedded-postgres.ts';
import { FEATURE_SCHEMAS } from './schema.ts';

type ConnectOptions = {
  /** Used instead of the database at this address or in this folder. */
  pool?: DatabasePool | undefined;
  /** `null` for the embedded database. */
  address: DatabaseAddress | null;
  dataFolder: string;
  tables?: WantedTables;
  /** Shows a message to the user, such as the location of the files. */
  notice: (message: string) => void;
};

/** Finds the database: yours by its address, or the embedded one, which starts when it isn't running. */
export async function connectToServer(options: ConnectOptions): Promise<DatabaseServer> {
  const { pool: appPool, address, dataFolder, tables = {}, notice } = options;
  if (appPool !== undefined) return serverAt({ connection: appPool }, tables);
  if (address !== null) return serverAt(address, tables);
  const embedded = await openEmbeddedPostgres(dataFolder, notice);
  const ensureRunning = () => embedded.ensureRunning();
  const server = serverAt({ connection: embedded.connection, ensureRunning }, tables);
  return { ...server, isEmbedded: true, release: () => embedded.release() };
}

type OpenOptions = Pick<ConnectOptions, 'notice'> &
  Pick<PoolOptions, 'onConnectionError'> &
  Partial<PoolOptions> & {
    /** Whether an embedded database is migrated first; it is by default. */
    readonly migratesEmbedded?: boolean;
  };

export type OpenedDatabase = Awaited<ReturnType<typeof openDatabase>>;

/** Opens a database with a few connections; `close` also releases its server. */
export async function openDatabase(
  config: DatabaseConfig,
  { notice, migratesEmbedded = true, ...options }: OpenOptions,
) {
  const server = await connectToServer({ ...config, notice });
  const database = server.open({ maxConnections: 4, statementTimeoutMs: 10_000, ...options });
  const close = async () => {
    await database.close();
    await server.release();
  };
  try {
    if (server.isEmbedded && migratesEmbedded) await prepareDatabase(server, options);
  } catch (error) {
    await close();
    throw error;
  }
  return { server, database, close };
}

/** Whether there is a database: an embedded one is in the folder once a server or a command has created it. */
export async function hasDatabase({ address, dataFolder }: DatabaseConfig): Promise<boolean> {
  if (address !== null) return true;
  return existsSync(dataFolder) && (await importEmbeddedPostgres()).hasDataDirectory(dataFolder);
}

/** Deletes everything in an embedded database. Returns false if another process uses it. */
export async function emptyDatabase(query: Query): Promise<boolean> {
  const others = await query(`
    select from pg_stat_activity
     where application_name = 'instep' and pid <> pg_backend_pid()`);
  if (others.length > 0) return false;
  await query('drop schema if exists instep cascade');
  await query('drop schema if exists public cascade');
  await query('create schema public');
  return true;
}

/** Brings the schema up to date, with the tables of all features. If the application's tables don't fit, nothing changes. */
export const prepareDatabase = (
  server: DatabaseServer,
  options: Omit<PrepareOptions, 'features'>,
): Promise<string[]> => prepareServer(server, { ...options, features: FEATURE_SCHEMAS });
