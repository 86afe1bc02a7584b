import type { AccessPolicy, DatabaseConfig } from '../config/config.ts';
import { connectToServer, type DatabaseServer } from '../postgres/connect.ts';
import type { Query } from '../postgres/database.ts';
import { importEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { CHECK_CONNECTION } from '../postgres/errors.ts';
import type { TableUse } from '../postgres/tables/privileges.ts';
import { type Recognition, recognizeTables } from '../postgres/tables/recognize-tables.ts';
import { type Check, safely, warning } from './check.ts';
import type { ClockReading } from './clock.ts';
import { checkDatabaseServer, checkHosts } from './database-server.ts';
import { checkEventLog, type EventLogOptions } from './event-log.ts';
import {
  checkAccess,
  checkOwnSchema,
  checkPrivileges,
  checkRowSecurity,
  checkSchemaVersion,
  checkTables,
} from './schema.ts';

type DatabaseOptions = {
  config: DatabaseConfig;
  use: TableUse;
  /** `null`: invalid. */
  accessPolicy: AccessPolicy | null;
  notice: (message: string) => void;
  now: () => number;
  stripeClock: ClockReading | null;
  log: Omit<EventLogOptions, 'query' | 'nowMs'>;
};

const READ_LOG = 'read postgres.log in the data directory (INSTEP_DATA)';
const SEE_PRIVILEGES = 'see the line about privileges';

const STATEMENT_TIMEOUT_MS = 5_000;

/** Checks the configured database, and changes nothing in it. */
export async function* checkDatabase(options: DatabaseOptions): AsyncGenerator<Check> {
  const { config, notice, now, stripeClock } = options;
  const { databaseUrls, dataFolder, tables } = config;
  const isEmbedded = databaseUrls.length === 0;
  if (isEmbedded) {
    const checks = await checkDataFolder(dataFolder);
    yield* checks;
    if (checks.length > 0) return;
  }
  yield* await checkHosts(databaseUrls);
  const advice = isEmbedded ? READ_LOG : CHECK_CONNECTION;
  let server: DatabaseServer | undefined;
  yield* await safely('database', advice, async () => {
    server = await connectToServer({ databaseUrls, dataFolder, tables, notice });
    return [];
  });
  if (server === undefined) return;
  const database = server.open({
    maxConnections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    // The statement on this connection fails with the same error.
    onConnectionError: () => undefined,
  });
  try {
    const freeBytes = isEmbedded
      ? await (await importEmbeddedPostgres()).freeBytesOf(dataFolder)
      : null;
    const answering = await safely('database', advice, () =>
      checkDatabaseServer({ query: database.query, now, freeBytes, stripeClock }),
    );
    yield* answering;
    if (answering.length > 1) yield* checkContents(database.query, options);
  } finally {
    await database.close();
    await server.release();
  }
}

/** What keeps the embedded database from being opened without being created. */
function checkDataFolder(dataFolder: string): Promise<readonly Check[]> {
  return safely('database', READ_LOG, async () => {
    const { hasDataDirectory } = await importEmbeddedPostgres();
    if (await hasDataDirectory(dataFolder)) return [];
    const result = `the embedded database in ${dataFolder} does not exist yet`;
    return [warning('database', result, 'start the server, which creates it, or set DATABASE_URL')];
  });
}

/** Checks the tables, and their contents if the schema is the one of this program. */
async function* checkContents(query: Query, options: DatabaseOptions): AsyncGenerator<Check> {
  const { now, log, config, use, accessPolicy } = options;
  let recognition: Recognition | undefined;
  yield* await safely('users and teams', CHECK_CONNECTION, async () => {
    recognition = await recognizeTables(query, config.tables);
    return [];
  });
  if (recognition === undefined) return;
  const tables = recognition;
  yield* await safely('privileges', CHECK_CONNECTION, () => checkPrivileges(query, tables, use));
  yield* await safely('row security', CHECK_CONNECTION, () => checkRowSecurity(query, tables));
  yield* await safely('users and teams', SEE_PRIVILEGES, () => checkTables(query, tables));
  const schema = await safely('schema', SEE_PRIVILEGES, () => checkSchemaVersion(query));
  yield* schema;
  if (schema.some(({ state }) => state !== 'ok')) {
    const result = 'not checked, because the schema does not match this version of Instep';
    yield warning('event log', result, 'correct the schema first');
    return;
  }
  yield* await safely('schema instep', SEE_PRIVILEGES, () => checkOwnSchema(query));
  if (tables.unfit !== null) {
    yield warning(
      'event log',
      "not checked, because the tables can't be used",
      'correct the tables first',
    );
    return;
  }
  yield* await safely('access', SEE_PRIVILEGES, () => checkAccess(query, tables, accessPolicy));
  const logOptions = { ...log, query, nowMs: now() };
  yield* await safely('event log', SEE_PRIVILEGES, () => checkEventLog(logOptions));
}
