import { type Database, openDatabase } from 'instep-engine/src/postgres/database.ts';
import { parseDatabaseUrl } from 'instep-engine/src/postgres/database-url.ts';

/** No statement takes this long, not even one that reads all teams from a disk. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** Opens a database as Instep does, with one connection, to run Instep's own functions on it. */
export function openInstepDatabase(url: string): Database {
  return openDatabase({
    connection: parseDatabaseUrl(url).connection,
    maxConnections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onConnectionError: () => undefined,
  });
}
