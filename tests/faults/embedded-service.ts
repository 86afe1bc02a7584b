import { openEmbeddedPostgres } from 'instep-embedded-postgres';
import { deleteDatabase, killServer } from '../embedded-postgres/data-folders.ts';
import { type Database, openDatabase } from '../support/internals/database.ts';
import { type InstepProcess, startInstep } from '../support/process/instep-process.ts';

/** A real server with its embedded PostgreSQL, which only the server restarts. */
export class EmbeddedService {
  readonly server: InstepProcess;
  /** The URL of the database for other programs. */
  readonly database: Database;
  readonly #dataFolder: string;

  private constructor(dataFolder: string, server: InstepProcess, database: Database) {
    this.#dataFolder = dataFolder;
    this.server = server;
    this.database = database;
  }

  static async start(dataFolder: string): Promise<EmbeddedService> {
    const server = await startInstep({ INSTEP_DATA: dataFolder });
    const { connection, release } = await openEmbeddedPostgres({ dataFolder, onNotice });
    await release();
    const database = openDatabase({
      connection,
      maxConnections: 4,
      statementTimeoutMs: 10_000,
      onConnectionError: () => undefined,
    });
    return new EmbeddedService(dataFolder, server, database);
  }

  /** kill -9. */
  killPostgres(): Promise<void> {
    return killServer(this.#dataFolder);
  }

  /** Stops the server, and opens its database. */
  async stop<Result>(inspect: (database: Database) => Promise<Result>): Promise<Result> {
    await this.server.stop();
    const embedded = await openEmbeddedPostgres({ dataFolder: this.#dataFolder, onNotice });
    try {
      return await inspect(this.database);
    } finally {
      await this.database.close();
      await embedded.release();
    }
  }

  async remove(): Promise<void> {
    await this.server.stop('SIGKILL');
    await deleteDatabase(this.#dataFolder);
  }
}

const onNotice = () => undefined;
