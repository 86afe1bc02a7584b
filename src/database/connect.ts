import type { ClientConfig } from 'pg';
import { type Database, type DatabaseOptions, openDatabase } from './database.ts';
import { openEmbeddedPostgres } from './embedded/embedded-postgres.ts';

/** A way to the database, whichever it is. */
export type DatabaseServer = {
  readonly isEmbedded: boolean;
  open(options: PoolOptions): Database;
  /** Leaves the server behind; an embedded one stops when nobody else uses it. */
  release(): Promise<void>;
};

export type PoolOptions = Pick<
  DatabaseOptions,
  'maxConnections' | 'statementTimeoutMs' | 'onConnectionError'
>;

export type ConnectOptions = {
  /** `undefined` for the embedded database. */
  readonly databaseUrl: URL | undefined;
  readonly dataFolder: string;
  /** Tells a person what they should know, such as where the files are. */
  readonly notice: (message: string) => void;
};

/** Finds the database: yours by its URL, or the embedded one, which starts when nobody runs it. */
export async function connectToServer(options: ConnectOptions): Promise<DatabaseServer> {
  const { databaseUrl, dataFolder, notice } = options;
  if (databaseUrl !== undefined) {
    const connection: ClientConfig = { connectionString: databaseUrl.href };
    return {
      isEmbedded: false,
      open: (pool) => openDatabase({ ...pool, connection }),
      release: async () => undefined,
    };
  }
  const embedded = await openEmbeddedPostgres({ dataFolder, notice });
  return {
    isEmbedded: true,
    open: (pool) =>
      openDatabase({
        ...pool,
        connection: embedded.connection,
        revive: () => embedded.ensureRunning(),
      }),
    release: () => embedded.release(),
  };
}
