// Where the database is. The engine, the commands and the tests begin here.

import { type Database, type DatabaseOptions, openDatabase } from './database.ts';
import { parseDatabaseUrl } from './database-url.ts';
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
