// All checks of the doctor, in order: for `instep doctor` and the console.

import {
  CHECK_CONNECTION,
  type Database,
  recognizeTables,
  type WantedTables,
} from 'instep-engine/postgres';
import { durationText, InstepError } from 'instep-engine/runtime';
import { keyKindOf, type Mode } from 'instep-engine/stripe';
import type { Issue } from 'instep-operate';
import { checkHealth } from 'instep-operate/host';
import {
  ConfigInvalid,
  type ConfigProblem,
  type DatabaseConfig,
  type Environment,
  readConfig,
  readPart,
  weakSecrets,
} from '../config/config.ts';
import { problemText } from '../config/environment.ts';
import { hasDatabase, type OpenedDatabase, openDatabase } from '../database/connect.ts';
import { OTHER_FEATURES } from '../operate/other-features.ts';
import { type Check, failure, ok, warning } from './check.ts';
import { checkDatabaseServer } from './database-server.ts';
import {
  checkAccess,
  checkPrivileges,
  checkRowSecurity,
  checkSchemaVersion,
  checkTables,
} from './schema.ts';
import { checkStripeApi } from './stripe-api.ts';

type ExamineOptions = {
  environment: Environment;
  /** The public URL of the webhook route; `null` when it was not given. */
  url: URL | null;
  notice: (message: string) => void;
  now: () => number;
};

const CONFIGURE_FIRST = 'correct the configuration first';

/** Checks everything that Instep needs, and changes nothing. Every wait has a deadline. */
export async function* examine(options: ExamineOptions): AsyncGenerator<Check> {
  const { environment, url } = options;
  const settings = readSettings(environment);
  const { api } = settings;
  yield* checkConfiguration(settings);

  const keyMode = api === null ? null : keyKindOf(api.secretKey).mode;
  if (api === null) yield warning("Stripe's API", 'not checked', CONFIGURE_FIRST);
  else yield* await checkStripeApi({ api, expected: { url, mode: keyMode } });

  if (settings.database === null) yield warning('database', 'not checked', CONFIGURE_FIRST);
  else yield* checkDatabase(settings.database, { ...options, settings, keyMode });
}

/** The parts of the configuration; `null` for an invalid one, and for what is off. */
type Settings = ReturnType<typeof readSettings>;

/** Reads each part by itself, so that an error in one does not prevent the checks of the others. */
function readSettings(environment: Environment) {
  const problems = new Map<string, ConfigProblem>();
  function attempt<Part>(read: () => Part): Part | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigInvalid)) throw error;
      for (const problem of error.problems) problems.set(problemText(problem), problem);
      return null;
    }
  }
  attempt(() => readConfig(environment));
  return {
    database: attempt(() => readPart('database', environment)),
    api: attempt(() => readPart('stripeApi', environment)),
    authSecrets: attempt(() => readPart('authSecrets', environment)),
    problems: [...problems.values()],
  };
}

/** Checks the configuration and the strength of the secrets. Shows none of them. */
function checkConfiguration({ problems, api, authSecrets }: Settings): Check[] {
  const name = 'configuration';
  if (problems.length > 0) {
    return problems.map(({ variable, problem, remedy }) =>
      failure(name, `${variable} ${problem}`, remedy ?? WHERE),
    );
  }
  const { isRestricted, mode } = keyKindOf(api?.secretKey ?? '');
  const elsewhere = api?.baseUrl === undefined ? '' : ` for ${api.baseUrl.host} (STRIPE_API_BASE)`;
  const key = `a ${isRestricted ? 'restricted' : 'secret'} key in ${mode ?? 'unknown'} mode${elsewhere}`;
  const profile = authSecrets === null ? ', and no profile: only subscriptions are in sync' : '';
  return [
    ok(name, `complete, with ${key}${profile}`),
    ...weakSecrets(authSecrets ?? []).map(({ variable, problem, remedy }) =>
      warning(name, `${variable} ${problem}`, remedy ?? WHERE),
    ),
  ];
}

const WHERE = 'correct it in the environment, or in .env in the directory where the server starts';

type DatabaseOptions = Pick<ExamineOptions, 'notice' | 'now'> & {
  settings: Settings;
  /** The mode of the API key; `null` when unknown. */
  keyMode: Mode | null;
};

const STATEMENT_TIMEOUT_MS = 5_000;

/** Checks the configured database, and changes nothing in it: an embedded one is not created. */
async function* checkDatabase(
  config: DatabaseConfig,
  options: DatabaseOptions,
): AsyncGenerator<Check> {
  const { address, dataFolder, tables } = config;
  let opened: OpenedDatabase | undefined;
  try {
    if (!(await hasDatabase(config))) {
      const result = `the embedded database in ${dataFolder} does not exist yet`;
      yield warning('database', result, 'start the server, which creates it, or set DATABASE_URL');
      return;
    }
    opened = await openDatabase(config, {
      ...{ notice: options.notice, migratesEmbedded: false },
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      // The statement on this connection fails with the same error.
      onConnectionError: () => undefined,
    });
    yield* await checkDatabaseServer(opened.database.query, address);
    yield* checkContents(opened.database, tables, options);
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    const readLog = 'read postgres.log in the data directory (INSTEP_DATA)';
    yield failure('database', error.message, address === null ? readLog : CHECK_CONNECTION);
  } finally {
    await opened?.close();
  }
}

/** Checks the tables, and their contents if the schema is the one of this program. */
async function* checkContents(
  database: Database,
  wanted: WantedTables,
  options: DatabaseOptions,
): AsyncGenerator<Check> {
  const { query } = database;
  const tables = await recognizeTables(query, wanted);
  yield* await checkPrivileges(query, tables);
  yield* await checkRowSecurity(query, tables);
  const name = wanted.profile === 'off' ? 'teams' : 'users and teams';
  yield* await unlessDenied(name, checkTables(query, name, tables));
  const schema = await unlessDenied('schema', checkSchemaVersion(query));
  yield* schema;
  if (schema.some(({ state }) => state !== 'ok')) {
    const result = 'not checked, because the schema does not match this version of Instep';
    yield warning('event log', result, 'correct the schema first');
    return;
  }
  if (tables.unfit !== null) {
    const result = "not checked, because the tables can't be used";
    yield warning('event log', result, 'correct the tables first');
    return;
  }
  yield* await unlessDenied('access', checkAccess(query, tables));
  yield* await unlessDenied('event log', checkEventLog(database, options));
}

/** The result of checks that need privileges, or the error that ended them. */
async function unlessDenied(name: string, checking: Promise<readonly Check[]>) {
  try {
    return await checking;
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    return [failure(name, error.message, 'see the line about privileges')];
  }
}

/** Whether events arrive, and what is out of sync: all issues, each by its code. */
async function checkEventLog(database: Database, options: DatabaseOptions): Promise<Check[]> {
  const { now, keyMode } = options;
  const context = { database, now, keyMode, otherFeatures: OTHER_FEATURES };
  const { issues, lastDeliveredMs } = await checkHealth(context);
  return [
    checkLastEvent(lastDeliveredMs, now()),
    ...issues.map(checkOf),
    ...(issues.length > 0 ? [] : [ok('event log', 'no issues')]),
  ];
}

function checkOf({ severity, code, text, advice }: Issue): Check {
  const common = { name: code.replaceAll('-', ' '), code, result: text };
  if (severity === 'notice') return { ...common, state: 'ok', advice: null };
  return { ...common, state: severity, advice };
}

function checkLastEvent(deliveredMs: number | null, nowMs: number): Check {
  const name = 'last event';
  if (deliveredMs !== null) return ok(name, `${durationText(nowMs - deliveredMs)} ago`);
  const advice =
    'change a subscription in the same mode; if Stripe then shows a failed delivery, the address is ' +
    'another one (basePath, trailingSlash), or a redirect, a login or a proxy is in front of it';
  return warning(name, 'none was ever delivered', advice);
}
