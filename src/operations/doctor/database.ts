import type { DatabaseConfig } from '../../config/config.ts';
import { connectToServer, type DatabaseServer } from '../../postgres/connect.ts';
import type { Query } from '../../postgres/database.ts';
import { freeBytesOf, hasDataDirectory } from '../../postgres/embedded/data-directory.ts';
import { type Check, failureOf, safely, warning } from './check.ts';
import { checkDatabaseServer } from './database-server.ts';
import { checkEventLog, type EventLogOptions } from './event-log.ts';
import { checkPrivileges, checkSchemaVersion, checkTables } from './schema.ts';

export type DatabaseOptions = {
  readonly config: DatabaseConfig;
  /** Tells a person what they should know, such as where the files are. */
  readonly notice: (message: string) => void;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Omit<EventLogOptions, 'query' | 'nowMs'>;
};

const LOOK_INTO_LOG = 'look into postgres.log in the data folder (INSTEP_DATA)';
const LOOK_AT_URL = 'look whether it runs, and at host, user, password and name in DATABASE_URL';
const LOOK_AT_PRIVILEGES = 'look at the line about privileges';

const STATEMENT_TIMEOUT_MS = 5_000;

/** Looks at the database, whichever it is, and changes nothing in it. */
export async function* checkDatabase(options: DatabaseOptions): AsyncGenerator<Check> {
  const { config, notice } = options;
  const isEmbedded = config.databaseUrls.length === 0;
  if (isEmbedded && !(await hasDataDirectory(config.dataFolder))) {
    const says = `there is none yet in ${config.dataFolder}`;
    yield warning('database', says, 'start the server, which makes it, or set DATABASE_URL');
    return;
  }
  const whatToDo = isEmbedded ? LOOK_INTO_LOG : LOOK_AT_URL;
  let server: DatabaseServer;
  try {
    server = await connectToServer({ ...config, notice });
  } catch (error) {
    yield failureOf('database', error, whatToDo);
    return;
  }
  const database = server.open({
    maxConnections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    // The statement that suffers from it tells.
    onConnectionError: () => undefined,
  });
  try {
    const freeBytes = isEmbedded ? await freeBytesOf(config.dataFolder) : null;
    const answering = await safely('database', whatToDo, () =>
      checkDatabaseServer({ query: database.query, now: options.now, freeBytes }),
    );
    yield* answering;
    if (answering.length > 1) yield* checkContents(database.query, options);
  } finally {
    await database.close();
    await server.release();
  }
}

/** The tables, and what they hold; the latter only if they are those that we know. */
async function* checkContents(query: Query, { now, log }: DatabaseOptions): AsyncGenerator<Check> {
  yield* await safely('privileges', LOOK_AT_URL, () => checkPrivileges(query));
  const schema = await safely('schema', LOOK_AT_PRIVILEGES, () => checkSchemaVersion(query));
  yield* schema;
  if (schema.some(({ state }) => state !== 'ok')) {
    const says = 'not looked into, since its tables are not those of this Instep';
    yield warning('log', says, 'set the schema right first');
    return;
  }
  yield* await safely('users and teams', LOOK_AT_PRIVILEGES, () => checkTables(query));
  const options = { ...log, query, nowMs: now() };
  yield* await safely('log', LOOK_AT_PRIVILEGES, () => checkEventLog(options));
}
