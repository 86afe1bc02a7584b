// What the operators' functions work with, and how it is opened; and what the console's package has to implement.

import { createHmac, randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { type Ingest, IngestPipeline, type Settle } from 'instep-engine/log';
import type { Database, DatabaseServer } from 'instep-engine/postgres';
import type { PlanSelection } from 'instep-engine/rule';
import { createLogger, type Logger } from 'instep-engine/runtime';
import {
  createStripeApi,
  keyKindOf,
  type Mode,
  type NameOf,
  type StripeApi,
} from 'instep-engine/stripe';
import {
  ConfigInvalid,
  type Environment,
  type NamedToken,
  type Role,
  readApiConfig,
  readDatabaseConfig,
  readKeepsPaused,
  readLinkByMetadata,
  readPlanSelection,
} from '../config/config.ts';
import { connectToServer, prepareDatabase } from '../database/connect.ts';
import { checkWholeSchema } from '../database/schema.ts';
import type { IssueCode } from '../health/issues.ts';
import { linksByMetadata } from '../links/link-by-metadata.ts';
import { importOptional } from '../runtime/packages.ts';

/** What the functions of `instep/operate` work with: get it from `openContext`, and pass it on. */
export type OperateContext = {
  /** @internal */
  readonly database: Database;
  /** Stripe's API, without a rate limit. @internal */
  readonly api: StripeApi;
  /** @internal */
  readonly ingest: Ingest;
  /** @internal */
  readonly settle: Settle;
  /** @internal */
  readonly nameOf: NameOf;
  /** @internal */
  readonly planSelection: PlanSelection;
  /** Whether a paused subscription keeps access; not by default. @internal */
  readonly keepsPaused?: boolean;
  /** The key of metadata that links teams; `null`: none does. @internal */
  readonly linkByMetadata?: string | null;
  /** The mode of STRIPE_SECRET_KEY; `null` when its prefix does not show it. @internal */
  readonly keyMode: Mode | null;
  /** @internal */
  readonly logger: Logger;
  /** In milliseconds since 1970. @internal */
  readonly now: () => number;
  /** A monotonic clock, in milliseconds. @internal */
  readonly clockMs: () => number;
  /** @internal */
  readonly nonce: () => string;
  /** Signs forms; the same in all processes with this configuration. @internal */
  readonly formSecret: string;
  /** Checks what Instep needs, as `instep doctor` does; only where a server or handler has opened it. @internal */
  readonly examine?: () => AsyncIterable<Check>;
  /** Disconnects from the database, unless the connections are those of a handler. */
  close(): Promise<void>;
};

/** Which page of a list to read. */
export type PageRequest<Start> = {
  /** The first page by default. */
  readonly start?: Start | null;
  /** 50 by default. */
  readonly limit?: number;
};

/** What matches a filter. Nothing is read before one of these is called. */
export type Search<Row, Page, Start> = {
  page(request?: PageRequest<Start>): Promise<Page>;
  /** All rows, for a file. */
  all(): AsyncGenerator<Row>;
};

/** The result of one check of `instep doctor`. */
export type Check = {
  /** The subject of the check, in a word or two. */
  readonly name: string;
  /** The issue that was found, if it is one of those that the overview lists too. */
  readonly code?: IssueCode;
  /** `warning`: it works for now, or could not be checked. `failure`: events are lost or refused. */
  readonly state: 'ok' | 'warning' | 'failure';
  /** The result, and its meaning. */
  readonly result: string;
  /** What to do; `null` when there is nothing to do. */
  readonly advice: string | null;
};

/** Who acts. The audit keeps it, so use an id rather than a name or an e-mail address. */
export type Operator = {
  readonly name: string;
  readonly how: OperatorAccess;
  /** Why, for the audit of actions that have no note of their own. */
  readonly reason?: string;
};

/** Through which program an operator acts. */
export type OperatorAccess = 'application' | 'command' | 'console';

/** A handler or an Instep, whose connections a context can share. */
export type Operated = { operateContext(): Promise<OperateContext> };

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
  const settings = { ...readContextSettings(environment), stripeApi: readApiConfig(environment) };
  const server = await connectToServer({
    ...readDatabaseConfig(environment),
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
  return {
    planSelection: readPlanSelection(environment),
    keepsPaused: readKeepsPaused(environment),
    linkByMetadata: readLinkByMetadata(environment),
  };
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

/** For a team that another transaction has locked. */
const LINK_DEADLINE_MS = 60_000;

async function refuse(): Promise<never> {
  throw new ConfigInvalid([{ variable: 'STRIPE_SECRET_KEY', problem: 'is not set', remedy: null }]);
}

const WITHOUT_STRIPE: StripeApi = {
  retrieveProductName: async () => null,
  retrieveSubscription: refuse,
  retrieveCheckoutSession: refuse,
  listEvents: refuse,
  listSubscriptions: refuse,
  isCustomerDeleted: refuse,
  listCustomers: refuse,
};

/** Makes a context of a database, with an ingest pipeline of its own. */
export function createContext({ stripeApi, ...given }: ContextOptions): OperateContext {
  const services = { now: Date.now, close: async () => undefined, ...given };
  const api = stripeApi === null ? WITHOUT_STRIPE : createStripeApi(stripeApi);
  const keyMode = stripeApi === null ? null : keyKindOf(stripeApi.secretKey).mode;
  const { database, logger, linkByMetadata: key } = services;
  const onUnlinked = linksByMetadata({
    database,
    logger,
    key,
    keyMode,
    deadlineMs: LINK_DEADLINE_MS,
  });
  const pipeline = new IngestPipeline({ ...services, api, onUnlinked, maxQueued: MAX_QUEUED });
  const { ingest, settle, nameOf } = pipeline;
  const clockMs = () => performance.now();
  const nonce = randomUUID;
  const formSecret = formSecretOf(stripeApi?.secretKey ?? nonce());
  return { ...services, api, ingest, settle, nameOf, keyMode, clockMs, nonce, formSecret };
}

/** Derived from a secret that all processes have. */
export function formSecretOf(secretKey: string): string {
  return createHmac('sha256', secretKey).update('instep forms').digest('base64url');
}

/**
 * A user of the console. The audit keeps the name, so use an id rather than a name or an e-mail address. It has 1
 * to 200 characters, and no control characters.
 */
export type ConsoleUser = {
  readonly name: string;
  readonly role: Role;
};

/** Whose token it is. `too many` when so many wrong ones wait for their answer that this one was not looked at. */
export type TokenVerdict = ConsoleUser | 'wrong' | 'too many';

/** How people log in to the console of `instep serve`. */
export type ConsoleLogin = {
  /** Each one signs the cookies of its holder. */
  readonly tokens: readonly NamedToken[];
  readonly checkToken: (token: string) => Promise<TokenVerdict>;
};

export type ConsoleHandler = ((request: Request) => Promise<Response>) & {
  /** Ends what the console does in the background, and disconnects it from the database. */
  close(): Promise<void>;
};

/** What the package `instep-console` exports for `instep serve`. */
export type ConsolePackage = {
  /** Without a login, every request is an operator's. */
  createConsoleWithLogin(options: {
    readonly instep: Operated;
    readonly login: ConsoleLogin | null;
  }): ConsoleHandler;
  /** Serves a handler with `node:http`. */
  toNodeListener(handler: (request: Request) => Promise<Response>): RequestListener;
};

/** The package `instep-console`; `null` when it is not installed. */
export async function importConsole(): Promise<ConsolePackage | null> {
  return await importOptional<ConsolePackage>('instep-console');
}
