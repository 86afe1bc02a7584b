import { type Database, openDatabase } from 'instep/src/postgres/database.ts';

/** No statement takes this long. */
const STATEMENT_TIMEOUT_MS = 60_000;

/** Opens a database as Instep does, with one connection, to run Instep's own functions on it. */
export function openInstepDatabase(url: string): Database {
  return openDatabase({
    connections: [{ connectionString: url }],
    maxConnections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onConnectionError: () => undefined,
  });
}
