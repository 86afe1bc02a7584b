// Where the database is, and its schema brought up to date. The engine, the commands and the tests begin here.

import { type Database, type DatabaseOptions, openDatabase } from './database.ts';
import { parseDatabaseUrl } from './database-url.ts';
import type { FeatureSchema } from './feature-schema.ts';
import { prepareSchema } from './prepare.ts';
import type { WantedTables } from './tables/application-tables.ts';

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

/** How to connect. */
export type DatabasePlace = Omit<DatabaseOptions, keyof PoolOptions | 'tables'>;

/**
 * The server at a connection URL, or that of an app's pool. `tables` has your names for tables and columns.
 *
 * @throws UnfitUrl
 */
export function serverAt(place: string | DatabasePlace, tables: WantedTables = {}): DatabaseServer {
  const options = typeof place === 'string' ? parseDatabaseUrl(place) : place;
  return {
    isEmbedded: false,
    tables,
    open: (pool) => openDatabase({ ...pool, tables, ...options }),
    release: async () => undefined,
  };
}

/** A migration can rebuild an index, and can wait for the migration of another instance. */
const MIGRATION_TIMEOUT_MS = 60_000;

export type PrepareOptions = {
  readonly features: readonly FeatureSchema[];
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
export async function prepareServer(
  server: DatabaseServer,
  {
    features,
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
    return await prepareSchema(database, {
      ...{ tables, createsTables, onWarning, onRecognized, features },
    });
  } finally {
    await database.close();
  }
}
