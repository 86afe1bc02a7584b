import type { DatabaseServer } from '../postgres/connect.ts';
import { migrate } from '../postgres/migrate.ts';
import { findApplicationTables } from '../postgres/tables/find-tables.ts';

/** A migration may rebuild an index, and waits for another instance's. */
const MIGRATION_TIMEOUT_MS = 60_000;

/** Brings the schema up to date, unless the application's tables don't fit: then nothing changes. */
export async function prepareDatabase(
  server: DatabaseServer,
  onConnectionError: (error: Error) => void,
): Promise<string[]> {
  const database = server.open({
    maxConnections: 1,
    statementTimeoutMs: MIGRATION_TIMEOUT_MS,
    onConnectionError,
  });
  try {
    return await migrate(database, {
      // Declared tables are the application's own to create.
      createsTables: server.tables.users === undefined && server.tables.teams === undefined,
      verify: (query) => findApplicationTables(query, server.tables),
    });
  } finally {
    await database.close();
  }
}
