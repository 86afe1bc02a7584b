// Finds the database server that the configuration names, and brings its schema up to date. The server, the handlers
// and the commands begin here.

import {
  type Database,
  type DatabaseAddress,
  type DatabaseOptions,
  type DatabasePool,
  openDatabase,
  prepareSchema,
  type WantedTables,
  writtenText,
} from 'instep-engine/postgres';
import { makeAccessView } from '../access/access-view.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from './embedded-postgres.ts';

/** The database server in use: yours, the embedded one, or that of an app's pool. */
export type DatabaseServer = {
  readonly isEmbedded: boolean;
  readonly tables: WantedTables;
  open(options: PoolOptions): Database;
  /** Releases the server. An embedded one stops when no other process uses it. */
  release(): Promise<void>;
};

export type PoolOptions = Pick<
  DatabaseOptions,
  'maxConnections' | 'statementTimeoutMs' | 'isReadOnly' | 'onConnectionError'
>;

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
  const server = (
    place: Omit<DatabaseOptions, keyof PoolOptions | 'tables'>,
    embedded: EmbeddedPostgres | null = null,
  ): DatabaseServer => ({
    isEmbedded: embedded !== null,
    tables,
    open: (pool) => openDatabase({ ...pool, tables, ...place }),
    release: async () => await embedded?.release(),
  });
  if (appPool !== undefined) return server({ connection: appPool });
  if (address !== null) return server(address);
  const embedded = await openEmbeddedPostgres(dataFolder, notice);
  const ensureRunning = () => embedded.ensureRunning();
  return server({ connection: embedded.connection, ensureRunning }, embedded);
}

/** Deletes everything in an embedded database. Returns false if another process uses it. */
export async function emptyDatabase(server: DatabaseServer): Promise<boolean> {
  const database = server.open({
    maxConnections: 1,
    statementTimeoutMs: MIGRATION_TIMEOUT_MS,
    onConnectionError: () => undefined,
  });
  try {
    const others = await database.query(`
      select from pg_stat_activity
       where application_name = 'instep' and pid <> pg_backend_pid()`);
    if (others.length > 0) return false;
    await database.query('drop schema if exists instep cascade');
    await database.query('drop schema if exists public cascade');
    await database.query('create schema public');
    return true;
  } finally {
    await database.close();
  }
}

/** A migration can rebuild an index, and can wait for the migration of another instance. */
const MIGRATION_TIMEOUT_MS = 60_000;

export type PrepareOptions = {
  readonly onConnectionError: (error: Error) => void;
  readonly onWarning?: (message: string) => void;
  /** Is told what Instep writes to which of the app's tables. */
  readonly onRecognized?: (text: string) => void;
  /**
   * Whether to create `users` and `teams` if neither exists. By default, only in the embedded database: in any
   * other one, the migrations of the app would find tables that they did not create.
   */
  readonly createsTables?: boolean;
};

/** Brings the schema up to date. If the application's tables don't fit, nothing changes. */
export async function prepareDatabase(
  server: DatabaseServer,
  {
    onConnectionError,
    onWarning = () => undefined,
    onRecognized = () => undefined,
    createsTables = server.isEmbedded,
  }: PrepareOptions,
): Promise<string[]> {
  const database = server.open({
    maxConnections: 1,
    statementTimeoutMs: MIGRATION_TIMEOUT_MS,
    onConnectionError,
  });
  try {
    const { tables } = server;
    const makeViews: typeof makeAccessView = async (database, recognition) => {
      if (recognition.teams !== null) onRecognized(writtenText(recognition.teams));
      await makeAccessView(database, recognition);
    };
    return await prepareSchema(database, { tables, createsTables, onWarning, makeViews });
  } finally {
    await database.close();
  }
}
