import type { DatabaseServer } from './connect.ts';
import { migrate } from './migrate.ts';
import { findApplicationTables } from './tables/find-tables.ts';

/** A migration can rebuild an index, and can wait for the migration of another instance. */
const MIGRATION_TIMEOUT_MS = 60_000;

/** Brings the schema up to date. If the application's tables don't fit, nothing changes. */
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
      // The application itself creates declared tables.
      createsTables: server.tables.users === undefined && server.tables.teams === undefined,
      verify: (query) => findApplicationTables(query, server.tables),
    });
  } finally {
    await database.close();
  }
}
