// All settings. Whatever needs one reads it here, from the environment that it is given.

import type { PlanSelection } from 'instep-engine/rule';
import type { AlertConfig, NamedToken } from 'instep-operate';
import * as v from 'valibot';
import { type DatabaseConfig, databaseVariables, toDatabaseConfig } from './database.ts';
import {
  type ConfigProblem,
  durationOrOff,
  type Environment,
  isPlaceholder,
  oneOf,
  readVariables,
  secret,
  secrets,
  url,
  type Values,
  wholeNumber,
  withRemedy,
} from './environment.ts';
import { MAKE_TOKEN, opsToken, opsTokens, toTokens } from './ops-tokens.ts';

export type { AlertConfig } from 'instep-operate';
export { type DatabaseConfig, describeDatabase } from './database.ts';
export { ConfigInvalid, type ConfigProblem, type Environment } from './environment.ts';

/** When a team has access: one setting for all instances (docs/access.md). */
export type AccessPolicy = {
  /** Which of several subscriptions decides: `TEAM_PLAN`. */
  readonly planSelection: PlanSelection;
  /** How long a team keeps access while a payment is due; `null`: without limit. `PAST_DUE_GRACE`. */
  readonly pastDueGraceMs: number | null;
  /** Whether a paused subscription keeps access: `PAUSED_ACCESS`. */
  readonly keepsPaused: boolean;
};

/** The listener for operators. */
export type OperationsConfig = {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** None gives every user of this machine access, and is allowed on a loopback address only. */
  readonly tokens: readonly NamedToken[];
};

const MIN_SECRET_BYTES = 32;

const isLong = (secret: string) => Buffer.byteLength(secret) >= MIN_SECRET_BYTES;

const DAY_MS = 86_400_000;

const forever = ['off', '0'];

/** Stripe lists the events of 30 days, and catch-up must find all of these in the log. */
const MIN_RETENTION_MS = 31 * DAY_MS;

const interval = (byDefault: string) =>
  durationOrOff(byDefault, 'an interval such as 90s, 15m or 1h, up to 30d', {
    maxMs: 30 * DAY_MS,
  });

const noPort = v.pipe(
  v.literal('off'),
  v.transform(() => null),
);

const SET_AUTH_SECRET =
  'set the secret that your app signs its session tokens with (of a new app, the output of `openssl rand -base64 32`)';

const authSecret = v.pipe(
  v.string(withRemedy('is missing', SET_AUTH_SECRET)),
  v.check((text) => text.trim() !== '', withRemedy('is empty', SET_AUTH_SECRET)),
  v.check((text) => !isPlaceholder(text), withRemedy('is a placeholder', SET_AUTH_SECRET)),
  // White space beside a comma belongs to the list. Any other is a part of the key, as in the app (contract, section 5).
  v.transform((text) => text.split(/\s*,\s*/)),
  v.tupleWithRest([v.string()], v.string()),
  // A comma inside a secret would make its short parts valid secrets as well.
  v.check(
    (parts) => parts.length === 1 || parts.every(isLong),
    withRemedy(
      `has a part shorter than ${MIN_SECRET_BYTES} bytes`,
      'a comma separates two secrets, so use secrets without a comma',
    ),
  ),
);

/** Without the profile, `AUTH_SECRET` can be of anything, such as another library's sessions. */
const noAuthSecret = v.pipe(
  v.unknown(),
  v.transform((): [] => []),
);

/** The variables beside those of the database: for each, its parser and its default. */
const variables = ({ OPS_PORT, OPS_TOKEN, OPS_TOKENS, PROFILE }: Environment) => ({
  STRIPE_WEBHOOK_SECRET: secrets(
    /^whsec_[!-~]+$/,
    'set the signing secret of your webhook endpoint, which begins with whsec_ ' +
      '(Stripe dashboard, Developers, Webhooks)',
  ),
  AUTH_SECRET: PROFILE === 'off' ? noAuthSecret : authSecret,
  PORT: wholeNumber(3_000, 0, 65_535),
  HOST: v.optional(v.string(), '127.0.0.1'),
  STRIPE_SECRET_KEY: secret(
    /^(?:sk|rk)_[!-~]+$/,
    'set a secret or restricted key of your account, which begins with sk_ or rk_ ' +
      '(Stripe dashboard, Developers, API keys)',
  ),
  STRIPE_API_BASE: v.optional(url(isWeb, 'must be a URL such as https://api.stripe.com')),
  LOG_LEVEL: oneOf('info', 'fatal', 'error', 'warn', 'debug', 'trace', 'silent'),
  TEAM_PLAN: oneOf('newest', 'best'),
  PAST_DUE_GRACE: durationOrOff('off', 'a duration such as 14d or 12h, up to 366d', {
    minMs: 0,
    maxMs: 366 * DAY_MS,
  }),
  PAUSED_ACCESS: oneOf('revoke', 'keep'),
  // A key of metadata at Stripe has up to 40 characters.
  LINK_BY_METADATA: v.optional(
    v.pipe(v.string(), v.regex(/^[\w.-]{1,40}$/, 'must be a key of metadata, such as teamId')),
  ),
  EVENT_RETENTION: durationOrOff('90d', 'a duration such as 90d, at least 31d', {
    ...{ off: forever, minMs: MIN_RETENTION_MS },
  }),
  PLAN_HISTORY_RETENTION: durationOrOff('730d', 'a duration such as 730d', { off: forever }),
  CATCH_UP_INTERVAL: interval('1h'),
  RECONCILE_INTERVAL: interval('1d'),
  MAX_BODY_BYTES: wholeNumber(2_097_152, 1_024, 67_108_864),
  MAX_QUEUED_EVENTS: wholeNumber(1_000, 1, 1_000_000),
  REQUEST_DEADLINE_MS: wholeNumber(5_000, 100, 60_000),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 0, 600_000),
  SHUTDOWN_DEADLINE_MS: wholeNumber(10_000, 100, 600_000),
  OPS_PORT: v.optional(
    v.union(
      [noPort, wholeNumber(3_001, 0, 65_535)],
      'must be off, or a whole number from 0 to 65535',
    ),
    '3001',
  ),
  OPS_HOST: v.pipe(
    v.optional(v.string(), '127.0.0.1'),
    // An address that other machines reach needs a token.
    v.check(
      (host) => isLoopback(host) || OPS_PORT === 'off' || (OPS_TOKEN ?? OPS_TOKENS) !== undefined,
      withRemedy('is not a loopback address, so OPS_TOKEN is required', MAKE_TOKEN),
    ),
  ),
  OPS_TOKEN: opsToken,
  OPS_TOKENS: opsTokens,
  ALERT_WEBHOOK_URL: v.optional(
    url(isHttps, 'must be an https:// URL, or an http:// URL of this machine'),
  ),
  CONSOLE_URL: v.optional(
    url(isWeb, 'must be a URL such as https://app.example.com/admin/billing'),
  ),
});

type Variables = Values<ReturnType<typeof variables>>;

/** The server's configuration. Times are in milliseconds; `null` means off. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Reads the server's configuration from environment variables (docs/configuration.md).
 *
 * @throws ConfigInvalid with every error at once, each with what to set
 * @example
 * ```ts
 * import { readConfig } from 'instep';
 *
 * const config = readConfig({
 *   STRIPE_SECRET_KEY: 'sk_test_123',
 *   STRIPE_WEBHOOK_SECRET: 'whsec_123',
 *   AUTH_SECRET: 'a secret of at least 32 characters',
 * });
 * console.log(config.port); // 3000
 * ```
 */
export function readConfig(environment: Environment) {
  const value = readVariables(
    { ...databaseVariables(environment), ...variables(environment) },
    environment,
  );
  return {
    database: toDatabaseConfig(value),
    webhookSecrets: value.STRIPE_WEBHOOK_SECRET,
    authSecrets: value.AUTH_SECRET,
    stripeApi: toApiConfig(value),
    port: value.PORT,
    host: value.HOST,
    logLevel: value.LOG_LEVEL,
    planSelection: value.TEAM_PLAN,
    accessPolicy: toAccessPolicy(value),
    linkByMetadata: value.LINK_BY_METADATA ?? null,
    eventRetentionMs: value.EVENT_RETENTION,
    planHistoryRetentionMs: value.PLAN_HISTORY_RETENTION,
    catchUpIntervalMs: value.CATCH_UP_INTERVAL,
    reconcileIntervalMs: value.RECONCILE_INTERVAL,
    maxBodyBytes: value.MAX_BODY_BYTES,
    maxQueuedEvents: value.MAX_QUEUED_EVENTS,
    requestDeadlineMs: value.REQUEST_DEADLINE_MS,
    shutdownDelayMs: value.SHUTDOWN_DELAY_MS,
    shutdownDeadlineMs: value.SHUTDOWN_DEADLINE_MS,
    operations: toOperationsConfig(value),
    alerts: toAlertConfig(value),
  };
}

/** The same without the profile, as with `PROFILE=off`. */
export function withoutProfile(config: Config): Config {
  const { database } = config;
  const tables = { ...database.tables, profile: 'off' } as const;
  return { ...config, database: { ...database, tables }, authSecrets: [] };
}

// Each of the following reads one part, for commands that need nothing else. @throws ConfigInvalid

export function readDatabaseConfig(environment: Environment): DatabaseConfig {
  return toDatabaseConfig(readVariables(databaseVariables(environment), environment));
}

export function readAccessPolicy(environment: Environment): AccessPolicy {
  return toAccessPolicy(readSome(environment, 'TEAM_PLAN', 'PAST_DUE_GRACE', 'PAUSED_ACCESS'));
}

/** The key of metadata that names a customer's team; `null`: teams are not linked by it. */
export function readLinkByMetadata(environment: Environment): string | null {
  return readSome(environment, 'LINK_BY_METADATA').LINK_BY_METADATA ?? null;
}

export function readApiConfig(environment: Environment) {
  return toApiConfig(readSome(environment, 'STRIPE_SECRET_KEY', 'STRIPE_API_BASE'));
}

export function readOperationsConfig(environment: Environment): OperationsConfig | null {
  return toOperationsConfig(
    readSome(environment, 'OPS_PORT', 'OPS_HOST', 'OPS_TOKEN', 'OPS_TOKENS'),
  );
}

/** `null`: alerts are off. */
export function readAlertConfig(environment: Environment): AlertConfig | null {
  return toAlertConfig(readSome(environment, 'ALERT_WEBHOOK_URL', 'CONSOLE_URL'));
}

/** The secrets of sessions, newest first. */
export function readAuthSecrets(environment: Environment): readonly [string, ...string[]] {
  return readVariables({ AUTH_SECRET: authSecret }, environment).AUTH_SECRET;
}

/** Those that the profile needs: none with `PROFILE=off`. */
export function readProfileSecrets(environment: Environment): readonly string[] {
  return readSome(environment, 'AUTH_SECRET').AUTH_SECRET;
}

/** The secret that `instep trigger` signs with, and the address of the server. */
export function readWebhookTarget(environment: Environment) {
  const value = readSome(environment, 'STRIPE_WEBHOOK_SECRET', 'PORT', 'HOST');
  return { webhookSecrets: value.STRIPE_WEBHOOK_SECRET, port: value.PORT, host: value.HOST };
}

function readSome<Name extends keyof Variables>(
  environment: Environment,
  ...names: readonly [Name, ...Name[]]
): Values<Pick<ReturnType<typeof variables>, Name>> {
  const all = variables(environment);
  return readVariables(v.pick(v.object(all), names).entries, environment);
}

/** Session secrets that work, but should be replaced or looked at. */
export function weakSecrets(authSecrets: readonly string[]): ConfigProblem[] {
  const isShort = {
    variable: 'AUTH_SECRET',
    problem: `is shorter than ${MIN_SECRET_BYTES} bytes, so session tokens can be forged by guessing it`,
    remedy: 'replace it with the output of `openssl rand -base64 32`, in your app as well',
  };
  const isPadded = {
    variable: 'AUTH_SECRET',
    problem: 'begins or ends with white space, which is a part of the secret',
    remedy: 'check that it is the same in your app',
  };
  return [
    ...(authSecrets.every(isLong) ? [] : [isShort]),
    ...(authSecrets.every((secret) => secret === secret.trim()) ? [] : [isPadded]),
  ];
}

function toAccessPolicy(
  value: Pick<Variables, 'TEAM_PLAN' | 'PAST_DUE_GRACE' | 'PAUSED_ACCESS'>,
): AccessPolicy {
  return {
    planSelection: value.TEAM_PLAN,
    pastDueGraceMs: value.PAST_DUE_GRACE,
    keepsPaused: value.PAUSED_ACCESS === 'keep',
  };
}

function toApiConfig(value: Pick<Variables, 'STRIPE_SECRET_KEY' | 'STRIPE_API_BASE'>) {
  return { secretKey: value.STRIPE_SECRET_KEY, baseUrl: value.STRIPE_API_BASE };
}

function toOperationsConfig(
  value: Pick<Variables, 'OPS_PORT' | 'OPS_HOST' | 'OPS_TOKEN' | 'OPS_TOKENS'>,
): OperationsConfig | null {
  const { OPS_PORT: port, OPS_HOST: host, OPS_TOKEN, OPS_TOKENS } = value;
  return port === null ? null : { host, port, tokens: toTokens(OPS_TOKEN, OPS_TOKENS) };
}

function toAlertConfig(
  value: Pick<Variables, 'ALERT_WEBHOOK_URL' | 'CONSOLE_URL'>,
): AlertConfig | null {
  const { ALERT_WEBHOOK_URL: url, CONSOLE_URL: consoleUrl = null } = value;
  return url === undefined ? null : { url, consoleUrl };
}

function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:';
}

function isHttps({ protocol, hostname }: URL): boolean {
  const isOwn = isLoopback(hostname) || hostname === '[::1]';
  return protocol === 'https:' || (protocol === 'http:' && isOwn);
}

/** Whether only this machine can reach the address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
