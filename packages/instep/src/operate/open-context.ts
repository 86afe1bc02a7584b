// Opens what the operators' functions work with: for your own back office, the commands and the operators' listener.

import { randomUUID } from 'node:crypto';
import { IngestPipeline } from 'instep-engine/log';
import type { DatabaseServer } from 'instep-engine/postgres';
import { createLogger, type Logger } from 'instep-engine/runtime';
import { createStripeApi, keyKindOf, type StripeApi } from 'instep-engine/stripe';
import type { OperateContext, Operated } from 'instep-operate';
import { ConfigInvalid, type Environment, readPart } from '../config/config.ts';
import { connectToServer, prepareDatabase } from '../database/connect.ts';
import { checkWholeSchema } from '../database/schema.ts';
import { OTHER_FEATURES } from './other-features.ts';

export type OpenContextOptions = {
  /** What `createHandler` or `openInstep` returned; without it, the environment says where to connect. */
  readonly instep?: Operated | undefined;
  /** `process.env` by default. */
  readonly environment?: Environment;
  /** Silent by default. */
  readonly logger?: Logger;
};

/**
 * Opens a context for the other functions: with the connections of your handler, or with connections of its
 * own to the database of the environment, whose schema must be up to date (`instep migrate`).
 *
 * @throws InstepError such as `CONFIG_INVALID`, `DATABASE_UNAVAILABLE` or `SCHEMA_OUTDATED`
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { findTeams, openContext } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const { teams } = await findTeams(context, { status: 'past_due' }).page();
 * console.log(teams.length); // 0
 * await handler.close();
 * ```
 */
export async function openContext(options: OpenContextOptions = {}): Promise<OperateContext> {
  const { instep, environment = process.env, logger = createLogger('silent') } = options;
  if (instep !== undefined) return await instep.operateContext();
  const settings = {
    ...readContextSettings(environment),
    stripeApi: readPart('stripeApi', environment),
  };
  const server = await connectToServer({
    ...readPart('database', environment),
    notice: (message) => logger.info(message),
  });
  try {
    const context = await openContextOn(server, { ...settings, logger });
    const close = async () => {
      await context.close();
      await server.release();
    };
    return { ...context, close };
  } catch (error) {
    await server.release();
    throw error;
  }
}

type ContextSettings = Omit<ContextOptions, 'database' | 'close'>;

/** Opens a context with connections of its own to a server, and migrates an embedded one. @throws as `openContext` */
export async function openContextOn(
  server: DatabaseServer,
  settings: ContextSettings,
): Promise<OperateContext> {
  const onConnectionError = (err: Error) =>
    settings.logger.warn({ err }, 'database connection lost');
  if (server.isEmbedded) await prepareDatabase(server, { onConnectionError });
  const context = contextOn(server, { ...settings, maxConnections: 4, statementTimeoutMs: 10_000 });
  try {
    await checkWholeSchema(context.database.query);
    return context;
  } catch (error) {
    await context.close();
    throw error;
  }
}

/**
 * The same for a server that the caller has migrated. The few connections are its own, so that a slow page or command does
 * not delay events.
 */
export function contextOn(
  server: DatabaseServer,
  settings: ContextSettings & {
    readonly maxConnections: number;
    readonly statementTimeoutMs: number;
  },
): OperateContext {
  const { maxConnections, statementTimeoutMs, ...options } = settings;
  const database = server.open({
    maxConnections,
    statementTimeoutMs,
    onConnectionError: (err) => options.logger.warn({ err }, 'database connection lost'),
  });
  return createContext({ ...options, database, close: () => database.close() });
}

/** What a context needs to know besides its connections. */
export function readContextSettings(environment: Environment) {
  const { planSelection, keepsPaused } = readPart('accessPolicy', environment);
  return { planSelection, keepsPaused, linkByMetadata: readPart('linkByMetadata', environment) };
}

type ContextOptions = Pick<
  OperateContext,
  'database' | 'planSelection' | 'keepsPaused' | 'linkByMetadata' | 'logger'
> &
  Partial<Pick<OperateContext, 'now' | 'close' | 'examine'>> & {
    /** `null`: Stripe is not asked. A running server looks up the names of products. */
    readonly stripeApi: Parameters<typeof createStripeApi>[0] | null;
  };

/** More events than an operator replays at once. */
const MAX_QUEUED = 100_000;

async function refuse(): Promise<never> {
  throw new ConfigInvalid([{ variable: 'STRIPE_SECRET_KEY', problem: 'is not set', remedy: null }]);
}

const WITHOUT_STRIPE: StripeApi = {
  retrieveProductName: async () => null,
  retrieveSubscription: refuse,
  retrieveCheckoutSession: refuse,
  listEvents: refuse,
  listSubscriptions: refuse,
  retrieveCustomer: refuse,
};

/** Makes a context of a database, with an ingest pipeline of its own. */
export function createContext({ stripeApi, ...given }: ContextOptions): OperateContext {
  const services = { now: Date.now, close: async () => undefined, ...given };
  const api = stripeApi === null ? WITHOUT_STRIPE : createStripeApi(stripeApi);
  const keyMode = stripeApi === null ? null : keyKindOf(stripeApi.secretKey).mode;
  const pipeline = new IngestPipeline({ ...services, api, maxQueued: MAX_QUEUED });
  const { ingest, settle, nameOf } = pipeline;
  const otherFeatures = OTHER_FEATURES;
  const clockMs = () => performance.now();
  const nonce = randomUUID;
  const own = { api, ingest, settle, nameOf, otherFeatures, keyMode, clockMs, nonce };
  return { ...services, ...own };
}
