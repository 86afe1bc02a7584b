import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { parseDatabaseUrl } from '../postgres/database-url.ts';
import { parseDuration } from '../runtime/duration.ts';
import { type Environment, readVariables } from './environment.ts';
import {
  type OperationsConfig,
  operationsVariables,
  protection,
  toOperationsConfig,
} from './operations.ts';
import { interval, secret, secrets, url, wholeNumber } from './validators.ts';

export { ConfigInvalid, type Environment } from './environment.ts';
export type { OperationsConfig } from './operations.ts';

const DATABASE_URL_FORM =
  'must be a URL such as postgres://user:password@host:5432/name (several servers: host:5432,' +
  'other:5432; target_session_attrs: read-write), or unset for the embedded database';

const databaseVariables = {
  DATABASE_URL: v.optional(
    v.pipe(
      v.string(),
      v.transform(parseDatabaseUrl),
      v.check((urls) => urls !== null, DATABASE_URL_FORM),
      v.transform((urls) => urls ?? []),
    ),
  ),
  INSTEP_DATA: v.optional(v.string(), './data'),
};

const webhookVariables = {
  STRIPE_WEBHOOK_SECRET: secrets(
    /^whsec_\S+$/,
    'set the signing secret of your webhook endpoint, whsec_ and what follows ' +
      '(Stripe dashboard, Developers, Webhooks)',
  ),
};

const sessionVariables = {
  AUTH_SECRET: secrets(
    /^\P{Cc}+$/u,
    'set the secret that your app signs its session tokens with, for example from ' +
      '`openssl rand -base64 32`',
  ),
};

const addressVariables = {
  PORT: wholeNumber(3_000, 0, 65_535),
  HOST: v.optional(v.string(), '127.0.0.1'),
};

/** One core is left to the database and the system. */
const coresToUse = () => Math.max(1, availableParallelism() - 1);

const workersVariable = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^(?:auto|[1-9]\d?)$/, 'must be auto, or a whole number from 1 to 99'),
    v.transform((text) => (text === 'auto' ? coresToUse() : Number(text))),
  ),
  '1',
);

const teamPlanVariables = {
  TEAM_PLAN: v.optional(v.picklist(['newest', 'best'], 'must be newest or best'), 'newest'),
};

const retentionVariables = {
  EVENT_RETENTION: v.optional(
    v.pipe(
      v.string(),
      v.transform((text) => (text === 'off' || text === '0' ? null : (parseDuration(text) ?? 0))),
      v.check((retentionMs) => retentionMs !== 0, 'must be a time such as 90d or 12h, or off'),
    ),
    '90d',
  ),
};

const apiVariables = {
  STRIPE_SECRET_KEY: secret(
    /^(?:sk|rk)_\S+$/,
    "set your account's secret or restricted key, sk_ or rk_ and what follows " +
      '(Stripe dashboard, Developers, API keys)',
  ),
  STRIPE_API_BASE: v.optional(url(['http:', 'https:'], 'https://api.stripe.com')),
};

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const serverVariables = {
  ...databaseVariables,
  ...webhookVariables,
  ...sessionVariables,
  ...addressVariables,
  ...apiVariables,
  LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`), 'info'),
  INSTEP_WORKERS: workersVariable,
  ...teamPlanVariables,
  ...retentionVariables,
  CATCH_UP_INTERVAL: interval('1h'),
  RECONCILE_INTERVAL: interval('off'),
  PROFILE_PASSWORD_HASH: v.optional(
    v.picklist(['include', 'omit'], 'must be include or omit'),
    'include',
  ),
  MAX_BODY_BYTES: wholeNumber(1_048_576, 1_024, 67_108_864),
  MAX_QUEUED_EVENTS: wholeNumber(10_000, 1, 1_000_000),
  REQUEST_DEADLINE_MS: wholeNumber(5_000, 100, 60_000),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 0, 600_000),
  SHUTDOWN_DEADLINE_MS: wholeNumber(10_000, 100, 600_000),
  ...operationsVariables,
};

const { concerns, isGiven, problem, problemOf } = protection;

const serverShape = v.pipe(
  v.object(serverVariables),
  v.forward(v.partialCheck(concerns, isGiven, problem), problemOf),
);

const operationsShape = v.pipe(
  v.object(operationsVariables),
  v.forward(v.partialCheck(concerns, isGiven, problem), problemOf),
);

export type DatabaseConfig = {
  /** One for each server that may be the primary; none for the embedded database. */
  readonly databaseUrls: readonly URL[];
  /** Where the embedded database lives; an absolute path. */
  readonly dataFolder: string;
};

export type Config = ReturnType<typeof readConfig>;

/** Everything that the server needs. @throws ConfigInvalid */
export function readConfig(environment: Environment) {
  const value = readVariables(serverShape, environment);
  return {
    ...toDatabaseConfig(value),
    webhookSecrets: value.STRIPE_WEBHOOK_SECRET,
    authSecrets: value.AUTH_SECRET,
    stripeSecretKey: value.STRIPE_SECRET_KEY,
    stripeApiBase: value.STRIPE_API_BASE,
    port: value.PORT,
    host: value.HOST,
    logLevel: value.LOG_LEVEL,
    workers: value.INSTEP_WORKERS,
    teamPlan: value.TEAM_PLAN,
    eventRetentionMs: value.EVENT_RETENTION,
    catchUpIntervalMs: value.CATCH_UP_INTERVAL,
    reconcileIntervalMs: value.RECONCILE_INTERVAL,
    includePasswordHash: value.PROFILE_PASSWORD_HASH === 'include',
    maxBodyBytes: value.MAX_BODY_BYTES,
    maxQueuedEvents: value.MAX_QUEUED_EVENTS,
    requestDeadlineMs: value.REQUEST_DEADLINE_MS,
    shutdownDelayMs: value.SHUTDOWN_DELAY_MS,
    shutdownDeadlineMs: value.SHUTDOWN_DEADLINE_MS,
    operations: toOperationsConfig(value),
  };
}

/** What a command needs that only looks into the database. @throws ConfigInvalid */
export function readDatabaseConfig(environment: Environment): DatabaseConfig {
  return toDatabaseConfig(readVariables(v.object(databaseVariables), environment));
}

/** Which of several subscriptions a team has. @throws ConfigInvalid */
export function readPlanSelection(environment: Environment) {
  return readVariables(v.object(teamPlanVariables), environment).TEAM_PLAN;
}

/** How long events stay in the log, in milliseconds; `null`: for ever. @throws ConfigInvalid */
export function readEventRetention(environment: Environment) {
  return readVariables(v.object(retentionVariables), environment).EVENT_RETENTION;
}

/** What it takes to ask Stripe's API. @throws ConfigInvalid */
export function readApiConfig(environment: Environment) {
  const value = readVariables(v.object(apiVariables), environment);
  return { secretKey: value.STRIPE_SECRET_KEY, baseUrl: value.STRIPE_API_BASE };
}

/** Where operators look, and who may; `null`: nowhere. @throws ConfigInvalid */
export function readOperationsConfig(environment: Environment): OperationsConfig | null {
  return toOperationsConfig(readVariables(operationsShape, environment));
}

/** The secrets that session tokens are signed with, newest first. @throws ConfigInvalid */
export function readAuthSecrets(environment: Environment): readonly [string, ...string[]] {
  return readVariables(v.object(sessionVariables), environment).AUTH_SECRET;
}

/** The signing secrets of the webhook endpoint, newest first. @throws ConfigInvalid */
export function readWebhookSecrets(environment: Environment): readonly [string, ...string[]] {
  return readVariables(v.object(webhookVariables), environment).STRIPE_WEBHOOK_SECRET;
}

/** What it takes to sign a webhook and to send it to the server. @throws ConfigInvalid */
export function readWebhookTarget(environment: Environment) {
  const value = readVariables(v.object({ ...webhookVariables, ...addressVariables }), environment);
  return { webhookSecrets: value.STRIPE_WEBHOOK_SECRET, port: value.PORT, host: value.HOST };
}

/** What is allowed and still unwise. */
export function configWarnings({
  authSecrets,
}: Readonly<{ authSecrets: readonly string[] }>): string[] {
  const isShort = authSecrets.some((text) => Buffer.byteLength(text) < 32);
  return isShort
    ? ['AUTH_SECRET is shorter than 32 bytes: HS256 is only as strong as its secret']
    : [];
}

function toDatabaseConfig(
  value: v.InferOutput<v.ObjectSchema<typeof databaseVariables, undefined>>,
): DatabaseConfig {
  return { databaseUrls: value.DATABASE_URL ?? [], dataFolder: resolve(value.INSTEP_DATA) };
}
