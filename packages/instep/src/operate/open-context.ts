// Opens what the operators' functions work with: for your own back office, the commands and the operators' listener.

import { randomUUID } from 'node:crypto';
import { IngestPipeline } from 'instep-engine/log';
import { createLogger, type Logger } from 'instep-engine/runtime';
import { createGet, createStripeApi, type Get, keyKindOf } from 'instep-engine/stripe';
import type { OperateContext, Operated } from 'instep-operate';
import { type Config, ConfigInvalid, type Environment, readPart } from '../config/config.ts';
import { openDatabase } from '../database/connect.ts';
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
 * const { rows } = await findTeams(context, { status: 'past_due' }).page();
 * console.log(rows.length); // 0
 * await handler.close();
 * ```
 */
export async function openContext(options: OpenContextOptions = {}): Promise<OperateContext> {
  const { instep, environment = process.env, logger = createLogger('silent') } = options;
  if (instep !== undefined) return await instep.operateContext();
  const stripeApi = readPart('stripeApi', environment);
  const notice = (message: string) => logger.info(message);
  return await openContextIn(environment, { stripeApi, logger, notice });
}

type ConnectionOptions = Pick<ContextOptions, 'stripeApi' | 'logger'> & {
  /** Shows a message of the embedded database. */
  readonly notice: (message: string) => void;
};

/** Opens a context on the database of an environment, and migrates an embedded one. @throws as `openContext` */
export async function openContextIn(
  environment: Environment,
  { notice, ...options }: ConnectionOptions,
): Promise<OperateContext> {
  const { planSelection } = readPart('accessPolicy', environment);
  const policy = { planSelection, linkByMetadata: readPart('linkByMetadata', environment) };
  const onConnectionError = (err: Error) =>
    options.logger.warn({ err }, 'database connection lost');
  const opening = openDatabase(readPart('database', environment), { notice, onConnectionError });
  const { database, close } = await opening;
  try {
    await checkWholeSchema(database.query);
    return createContext({ ...policy, ...options, database, close });
  } catch (error) {
    await close();
    throw error;
  }
}

type ContextOptions = Pick<
  OperateContext,
  'database' | 'planSelection' | 'linkByMetadata' | 'logger'
> &
  Partial<Pick<OperateContext, 'now' | 'close'>> & {
    /** `null`: Stripe is not asked. A running server looks up the names of products. */
    readonly stripeApi: Config['stripeApi'] | null;
  };

/** More events than an operator replays at once. */
const MAX_QUEUED = 100_000;

const refuse: Get = async () => {
  throw new ConfigInvalid([{ variable: 'STRIPE_SECRET_KEY', problem: 'is not set', remedy: null }]);
};

const WITHOUT_STRIPE = { ...createStripeApi(refuse), retrieveProductName: async () => null };

/** Makes a context of a database, with an ingest pipeline of its own. */
export function createContext({ stripeApi, ...given }: ContextOptions): OperateContext {
  const services = { now: Date.now, close: async () => undefined, ...given };
  const api = stripeApi === null ? WITHOUT_STRIPE : createStripeApi(createGet(stripeApi));
  const { ingest, settle, nameOf } = new IngestPipeline({
    ...services,
    ...{ api, maxQueued: MAX_QUEUED },
  });
  return {
    ...{ ...services, api, ingest, settle, nameOf, otherFeatures: OTHER_FEATURES },
    keyMode: stripeApi === null ? null : keyKindOf(stripeApi.secretKey).mode,
    clockMs: () => performance.now(),
    nonce: randomUUID,
  };
}
