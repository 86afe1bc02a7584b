import { readDatabaseConfig } from '../config/config.ts';
import { connectToServer } from '../postgres/connect.ts';
import type { Database } from '../postgres/database.ts';
import { checkSchema } from '../postgres/migrate.ts';
import { prepareDatabase } from '../queries/prepare-database.ts';
import { tell } from './output.ts';

const STATEMENT_TIMEOUT_MS = 10_000;

const onConnectionError = (error: Error) => tell(`database connection lost: ${error.message}`);

/**
 * Runs a command on the database, beside a running server or without one. The embedded database
 * is brought up to date first; one of yours only by `instep migrate` or by the server.
 */
export async function withDatabase<Result>(
  work: (database: Database) => Promise<Result>,
  maxConnections = 1,
): Promise<Result> {
  const server = await connectToServer({ ...readDatabaseConfig(process.env), notice: tell });
  try {
    if (server.isEmbedded) await prepareDatabase(server, onConnectionError);
    const database = server.open({
      maxConnections,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      onConnectionError,
    });
    try {
      await checkSchema(database.query);
      return await work(database);
    } finally {
      await database.close();
    }
  } finally {
    await server.release();
  }
}

/** Migrates whichever database is configured. Returns what it ran. */
export async function migrateDatabase(): Promise<string[]> {
  const server = await connectToServer({ ...readDatabaseConfig(process.env), notice: tell });
  try {
    return await prepareDatabase(server, onConnectionError);
  } finally {
    await server.release();
  }
}
