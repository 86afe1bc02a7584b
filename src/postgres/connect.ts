import { type Database, type DatabaseOptions, openDatabase } from './database.ts';
import { openEmbeddedPostgres } from './embedded/embedded-postgres.ts';

/** A way to the database, whichever it is. */
export type DatabaseServer = {
  readonly isEmbedded: boolean;
  open(options: PoolOptions): Database;
  /** Leaves the server behind; an embedded one stops when no other process uses it. */
  release(): Promise<void>;
};

export type PoolOptions = Pick<
  DatabaseOptions,
  'maxConnections' | 'statementTimeoutMs' | 'onConnectionError'
>;

export type ConnectOptions = {
  /** One for each server that may be the primary; none for the embedded database. */
  readonly databaseUrls: readonly URL[];
  readonly dataFolder: string;
  /** Tells a person what they should know, such as where the files are. */
  readonly notice: (message: string) => void;
};

/** Finds the database: yours by its URL, or the embedded one, which starts when it isn't running. */
export async function connectToServer(options: ConnectOptions): Promise<DatabaseServer> {
  const { databaseUrls, dataFolder, notice } = options;
  if (databaseUrls.length > 0) {
    const connections = databaseUrls.map(({ href }) => ({ connectionString: href }));
    return {
      isEmbedded: false,
      open: (pool) => openDatabase({ ...pool, connections }),
      release: async () => undefined,
    };
  }
  const embedded = await openEmbeddedPostgres({ dataFolder, onNotice: notice });
  return {
    isEmbedded: true,
    open: (pool) =>
      openDatabase({
        ...pool,
        connections: [embedded.connection],
        revive: () => embedded.ensureRunning(),
      }),
    release: () => embedded.release(),
  };
}
