// All settings. Whatever needs one reads it here, from the environment that it is given.

import type { PlanSelection } from 'instep-engine/rule';
import * as v from 'valibot';
import { databasePart } from './database.ts';
import {
  type ConfigProblem,
  durationOrOff,
  type Environment,
  given,
  oneOf,
  part,
  readParts,
  readVariables,
  secret,
  secrets,
  url,
  wholeNumber,
  withRemedy,
} from './environment.ts';
import { alertsPart, isWeb, operationsPart } from './operations.ts';

export type { AlertConfig } from 'instep-operate';
export { type DatabaseConfig, describeDatabase } from './database.ts';
export { ConfigInvalid, type ConfigProblem, type Environment } from './environment.ts';
export type { OperationsConfig } from './operations.ts';

/** When a team has access: one setting for all instances (docs/access.md). */
export type AccessPolicy = {
  /** Which of several subscriptions decides: `TEAM_PLAN`. */
  readonly planSelection: PlanSelection;
  /** How long a team keeps access while a payment is due; `null`: without limit. `PAST_DUE_GRACE`. */
  readonly pastDueGraceMs: number | null;
};

const MIN_SECRET_BYTES = 32;

const isLong = (secret: string) => Buffer.byteLength(secret) >= MIN_SECRET_BYTES;

const authSecret = v.pipe(
  given(
    'set the secret that your app signs its session tokens with (of a new app, the output of `openssl rand -base64 32`)',
  ),
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

/** The secrets of sessions, newest first. */
const authSecrets = part(
  { AUTH_SECRET: authSecret },
  (value): readonly [string, ...string[]] => value.AUTH_SECRET,
);

/** The same; `null` without the profile, where `AUTH_SECRET` can be of anything, such as another library's sessions. */
const sessionSecrets = ({
  PROFILE,
}: Environment): v.GenericSchema<Record<string, unknown>, readonly [string, ...string[]] | null> =>
  PROFILE === 'off' ? part({}, () => null) : authSecrets;

const DAY_MS = 86_400_000;

const forever = ['off', '0'];

/** Stripe lists the events of 30 days, and catch-up must find all of these in the log. */
const MIN_RETENTION_MS = 31 * DAY_MS;

const interval = (byDefault: string) =>
  durationOrOff(byDefault, 'an interval such as 90s, 15m or 1h, up to 30d', {
    maxMs: 30 * DAY_MS,
  });

/** The parts of the configuration: for each, its variables with their defaults, and what they become. */
const partsFor = (environment: Environment) => ({
  database: databasePart(environment),
  webhookSecrets: part(
    {
      STRIPE_WEBHOOK_SECRET: secrets(
        /^whsec_[!-~]+$/,
        'set the signing secret of your webhook endpoint, which begins with whsec_ ' +
          '(Stripe dashboard, Developers, Webhooks)',
      ),
    },
    (value) => value.STRIPE_WEBHOOK_SECRET,
  ),
  authSecrets: sessionSecrets(environment),
  stripeApi: part(
    {
      STRIPE_SECRET_KEY: secret(
        /^(?:sk|rk)_[!-~]+$/,
        'set a secret or restricted key of your account, which begins with sk_ or rk_ ' +
          '(Stripe dashboard, Developers, API keys)',
      ),
      STRIPE_API_BASE: v.optional(url(isWeb, 'must be a URL such as https://api.stripe.com')),
    },
    (value) => ({ secretKey: value.STRIPE_SECRET_KEY, baseUrl: value.STRIPE_API_BASE }),
  ),
  accessPolicy: part(
    {
      TEAM_PLAN: oneOf('newest', 'best'),
      PAST_DUE_GRACE: durationOrOff('off', 'a duration such as 14d or 12h, up to 366d', {
        minMs: 0,
        maxMs: 366 * DAY_MS,
      }),
    },
    (value): AccessPolicy => ({
      planSelection: value.TEAM_PLAN,
      pastDueGraceMs: value.PAST_DUE_GRACE,
    }),
  ),
  // The key of metadata that names a customer's team; `null`: teams are not linked by it.
  linkByMetadata: part(
    {
      // A key of metadata at Stripe has up to 40 characters.
      LINK_BY_METADATA: v.optional(
        v.pipe(v.string(), v.regex(/^[\w.-]{1,40}$/, 'must be a key of metadata, such as teamId')),
      ),
    },
    (value) => value.LINK_BY_METADATA ?? null,
  ),
  operations: operationsPart(environment),
  alerts: alertsPart,
  /** Where the server listens. */
  listener: part(
    { PORT: wholeNumber(3_000, 0, 65_535), HOST: v.optional(v.string(), '127.0.0.1') },
    (value) => ({ port: value.PORT, host: value.HOST }),
  ),
  /** What only a server needs. */
  server: part(
    {
      LOG_LEVEL: oneOf('info', 'fatal', 'error', 'warn', 'debug', 'trace', 'silent'),
      EVENT_RETENTION: durationOrOff('90d', 'a duration such as 90d, at least 31d', {
        ...{ off: forever, minMs: MIN_RETENTION_MS },
      }),
      CATCH_UP_INTERVAL: interval('1h'),
      RECONCILE_INTERVAL: interval('1d'),
      MAX_BODY_BYTES: wholeNumber(2_097_152, 1_024, 67_108_864),
      MAX_QUEUED_EVENTS: wholeNumber(1_000, 1, 1_000_000),
      REQUEST_DEADLINE_MS: wholeNumber(5_000, 100, 60_000),
      SHUTDOWN_DELAY_MS: wholeNumber(0, 0, 600_000),
      SHUTDOWN_DEADLINE_MS: wholeNumber(10_000, 100, 600_000),
    },
    (value) => ({
      logLevel: value.LOG_LEVEL,
      eventRetentionMs: value.EVENT_RETENTION,
      catchUpIntervalMs: value.CATCH_UP_INTERVAL,
      reconcileIntervalMs: value.RECONCILE_INTERVAL,
      maxBodyBytes: value.MAX_BODY_BYTES,
      maxQueuedEvents: value.MAX_QUEUED_EVENTS,
      requestDeadlineMs: value.REQUEST_DEADLINE_MS,
      shutdownDelayMs: value.SHUTDOWN_DELAY_MS,
      shutdownDeadlineMs: value.SHUTDOWN_DEADLINE_MS,
    }),
  ),
});

type Parts = ReturnType<typeof partsFor>;

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
  const { listener, server, ...named } = readParts(partsFor(environment), environment);
  return { ...named, ...listener, ...server };
}

/** Reads one part, for what needs nothing else. @throws ConfigInvalid */
export function readPart<Name extends keyof Parts>(
  name: Name,
  environment: Environment,
): v.InferOutput<Parts[Name]> {
  return readVariables(partsFor(environment)[name], environment);
}

/** Reads the secrets of sessions, whether there is a profile or not. @throws ConfigInvalid */
export const readAuthSecrets = (environment: Environment) =>
  readVariables(authSecrets, environment);

/** Session secrets that work, but should be replaced. */
export function weakSecrets(secrets: readonly string[]): ConfigProblem[] {
  if (secrets.every(isLong)) return [];
  const problem = `is shorter than ${MIN_SECRET_BYTES} bytes, so session tokens can be forged by guessing it`;
  const remedy = 'replace it with the output of `openssl rand -base64 32`, in your app as well';
  return [{ variable: 'AUTH_SECRET', problem, remedy }];
}
