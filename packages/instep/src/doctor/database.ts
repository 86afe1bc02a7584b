import type { AccessPolicy, DatabaseConfig } from '../config/config.ts';
import { ADVICE, issueText } from '../health/issue-text.ts';
import type { Issue } from '../health/issues.ts';
import { type HealthReport, reportHealth } from '../operate/health.ts';
import { connectToServer, type DatabaseServer } from '../postgres/connect.ts';
import type { Query } from '../postgres/database.ts';
import { importEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { CHECK_CONNECTION } from '../postgres/errors.ts';
import type { TableUse } from '../postgres/tables/privileges.ts';
import { type Recognition, recognizeTables } from '../postgres/tables/recognize-tables.ts';
import { durationText } from '../runtime/amounts.ts';
import type { Mode } from '../stripe/key-kind.ts';
import { type Check, ok, safely, warning } from './check.ts';
import type { ClockReading } from './clock.ts';
import { checkDatabaseServer, checkHosts } from './database-server.ts';
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

type EventLogOptions = {
  readonly query: Query;
  /** The mode of the API key; `null` when unknown. */
  readonly keyMode: Mode | null;
  readonly linkByMetadata?: string | null;
  /** When Stripe created the newest event, in seconds since 1970; `null` when unknown. */
  readonly newestEventSeconds: number | null;
  readonly nowMs: number;
};

/** Whether events arrive, and what is out of sync: all issues, each by its code. */
async function checkEventLog(options: EventLogOptions): Promise<Check[]> {
  const { query, keyMode, linkByMetadata, nowMs } = options;
  const known = { keyMode, linkByMetadata, nowMs, areWritesCommitted: null };
  const report = await reportHealth(query, known);
  const { issues, eventMode } = report;
  return [
    checkLastEvent(report, options),
    ...(eventMode === null ? [] : [ok('event mode', eventMode)]),
    ...issues.map((issue) => checkOf(issue, nowMs)),
    ...(issues.length > 0 ? [] : [ok('event log', 'no issues')]),
  ];
}

function checkOf(issue: Issue, nowMs: number): Check {
  const { severity, code } = issue;
  const common = { name: code.replaceAll('-', ' '), code, result: issueText(issue, nowMs) };
  if (severity === 'notice') return { ...common, state: 'ok', advice: null };
  return { ...common, state: severity, advice: ADVICE[code] };
}

/** A younger event can still be in transit. */
const IN_TRANSIT_MS = 10 * 60_000;

function checkLastEvent(
  { figures: { lastDeliveredMs, newestCreatedSeconds } }: HealthReport,
  { newestEventSeconds, nowMs }: EventLogOptions,
): Check {
  const name = 'last event';
  const ago = (ms: number) => `${durationText(nowMs - ms)} ago`;
  const last = lastDeliveredMs === null ? 'none was ever delivered' : ago(lastDeliveredMs);
  const newestMs = (newestEventSeconds ?? 0) * 1_000;
  const isKnown = newestMs <= (newestCreatedSeconds ?? 0) * 1_000;
  if (!isKnown && nowMs - newestMs > IN_TRANSIT_MS) {
    return warning(
      name,
      `${last}; an event that Stripe created ${ago(newestMs)} is not in the log`,
      'see the lines about the webhook endpoint, and check that the server is running',
    );
  }
  if (lastDeliveredMs !== null) return ok(name, last);
  return warning(name, last, 'change a subscription in the same mode, so that Stripe sends one');
}
