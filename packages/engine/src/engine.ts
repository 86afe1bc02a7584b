// Opens all parts of the engine and connects them; the only module that knows them all.

import { randomUUID } from 'node:crypto';
import type { EngineServices, Feature } from './feature.ts';
import { createFetchHandler } from './http/fetch-handler.ts';
import { ReadinessEndpoint } from './http/health.ts';
import type { Handler } from './http/http-message.ts';
import { Router } from './http/router.ts';
import { type Rejection, SessionReader, secretKeys } from './http/session-token.ts';
import { UserEndpoint } from './http/user.ts';
import { type IngestWebhook, WebhookEndpoint } from './http/webhook.ts';
import type { Queued } from './log/event-queues.ts';
import { IngestPipeline } from './log/pipeline.ts';
import type { Database, DatabaseServer } from './postgres/database.ts';
import { checkSchema, ENGINE_MIGRATIONS } from './postgres/migrate.ts';
import { type FeatureSchema, prepareServer } from './postgres/prepare.ts';
import { endPauses } from './repair/lease.ts';
import { type MaintenanceMode, openMaintenance } from './repair/worker.ts';
import type { PlanSelection } from './rule/plan-selection.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from './runtime/instrumentation.ts';
import type { Logger } from './runtime/logging.ts';
import { createEventRetrieval, createStripeApi } from './stripe/api.ts';
import { createGet } from './stripe/api-call.ts';
import { keyKindOf } from './stripe/key-kind.ts';
import { SignatureVerifier } from './stripe/signature.ts';

/** Times are in milliseconds. */
export type EngineOptions = {
  /** Where the database is: `serverAt('postgres://…')`. */
  readonly server: DatabaseServer;
  readonly stripe: {
    readonly secretKey: string;
    /** The secrets with which Stripe signs. Several, while one is being replaced. */
    readonly webhookSecrets: readonly string[];
    /** Another address of Stripe's API, for tests. */
    readonly baseUrl?: URL | undefined;
  };
  /** How `GET /api/user` knows users; `null`: there is no profile. */
  readonly profile: {
    readonly authSecrets: readonly string[];
    /** Whether the profile has the hash of the password, as the contract says. */
    readonly includePasswordHash: boolean;
  } | null;
  readonly logger: Logger;
  /** Of several subscriptions, which one decides; `newest` by default. */
  readonly planSelection?: PlanSelection;
  readonly features?: readonly Feature[];
  /** `background` by default. */
  readonly maintenance?: MaintenanceMode;
  readonly settings?: Partial<EngineSettings>;
  readonly instrumentation?: Instrumentation;
  /** Is told why a delivery was refused. */
  readonly onSignatureRejected?: (problem: string) => void;
  /** Is told why a session was refused; `''`: it was not. */
  readonly onSessionRead?: (rejection: Rejection | '') => void;
  /** The current time in milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
};

/** Writes nothing, and is refused by a standby. */
const CHECK_WRITABLE = {
  name: 'check_writable',
  text: 'update instep.events set deliveries = deliveries where false',
};

/** Times are in milliseconds; `null`: never, or forever. */
export type EngineSettings = {
  readonly maxConnections: number;
  readonly maxBodyBytes: number;
  readonly maxQueuedEvents: number;
  readonly requestDeadlineMs: number;
  readonly catchUpIntervalMs: number | null;
  readonly reconcileIntervalMs: number | null;
  readonly eventRetentionMs: number | null;
};

const DAY_MS = 86_400_000;

const DEFAULTS: EngineSettings = {
  maxConnections: 10,
  maxBodyBytes: 2 * 1_024 * 1_024,
  maxQueuedEvents: 1_000,
  requestDeadlineMs: 5_000,
  catchUpIntervalMs: DAY_MS / 24,
  reconcileIntervalMs: DAY_MS,
  eventRetentionMs: 90 * DAY_MS,
};

/** An engine that is running. */
export type Engine = {
  /** Answers a request of the Fetch API: both endpoints, `/healthz` and `/readyz`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same without the Fetch API, for `listen`. */
  readonly handle: Handler;
  /** Processes a webhook that another program received, such as the consumer of a queue. */
  readonly ingest: IngestWebhook;
  readonly database: Database;
  /** What features and operators work with. */
  readonly services: EngineServices;
  queued(): Queued;
  /** With `maintenance: 'on-demand'`, runs the jobs that are due, until they are done or soon after `budgetMs`. */
  runMaintenance(budgetMs: number): Promise<void>;
  /** Makes `/readyz` answer 503, and ends the work in the background. */
  stopBeingReady(): void;
  /** Ends the work in the background, and disconnects. */
  close(): Promise<void>;
};

/**
 * Opens an engine: connects, brings its tables up to date, checks the application's, and begins to repair.
 *
 * @throws InstepError such as `APPLICATION_TABLES_UNFIT`, `DATABASE_UNAVAILABLE` or `SCHEMA_NEWER`
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { server, stripe, profile, logger, features = [], now = Date.now } = options;
  const { planSelection = 'newest', maintenance: mode = 'background' } = options;
  const { instrumentation = NO_INSTRUMENTATION } = options;
  const settings = { ...DEFAULTS, ...options.settings };
  const { maxQueuedEvents: maxQueued, requestDeadlineMs } = settings;
  // Shorter than the deadline of the request, so that the error names the cause.
  const timeoutMs = Math.ceil(requestDeadlineMs * 0.8);
  const database = await openDatabaseOf(options, settings.maxConnections, timeoutMs);
  const { query } = database;
  const get = createGet({ ...stripe, instrumentation });
  const api = createStripeApi(get);
  const keyMode = keyKindOf(stripe.secretKey).mode;
  const pipeline = new IngestPipeline({
    ...{ database, api, logger, planSelection, maxQueued, timeoutMs, instrumentation },
  });
  const { ingest, settle, nameOf } = pipeline;
  const services: EngineServices = {
    ...{ database, api, logger, planSelection, keyMode, ingest, settle, nameOf },
    ...{ now, clockMs: () => performance.now(), nonce: randomUUID },
  };

  await Promise.all(features.map(({ start }) => start?.(services)));
  async function loadJobs() {
    const ofFeatures = features.map(async ({ jobs }) => (await jobs?.(services, mode)) ?? []);
    if (mode === 'off') return (await Promise.all(ofFeatures)).flat();
    const { createJobs } = await import('./repair/jobs.ts');
    await endPauses(query);
    return [...createJobs(services, settings), ...(await Promise.all(ofFeatures)).flat()];
  }
  const maintenance = openMaintenance(mode === 'on-demand', loadJobs, {
    ...{ logger, instrumentation },
    otherJobs: () => features.flatMap(({ jobsOnDemand }) => jobsOnDemand?.() ?? []),
  });
  const stopAll = () => Promise.all([maintenance.stop(), ...features.map(({ stop }) => stop?.())]);

  const webhook = new WebhookEndpoint({
    verifier: new SignatureVerifier(stripe.webhookSecrets, (problem) => {
      instrumentation.signatureRejected(problem);
      options.onSignatureRejected?.(problem);
    }),
    retrieveEvent: createEventRetrieval(get),
    maxBodyBytes: settings.maxBodyBytes,
    ...{ pipeline, keyMode, instrumentation, logger, now, nonce: randomUUID, requestDeadlineMs },
  });
  let isShuttingDown = false;
  const router = new Router({
    user:
      profile === null
        ? null
        : new UserEndpoint({
            sessions: new SessionReader(
              secretKeys(profile.authSecrets),
              now,
              options.onSessionRead,
            ),
            includePasswordHash: profile.includePasswordHash,
            ...{ query, requestDeadlineMs },
          }),
    webhook,
    readiness: new ReadinessEndpoint({
      isShuttingDown: () => isShuttingDown,
      async checkDatabase() {
        await checkSchema(query, migrationsOf(features));
        await query(CHECK_WRITABLE);
      },
      logger,
    }),
    ...{ instrumentation, logger },
  });
  const handle: Handler = (request) => router.handle(request);

  let closed: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    try {
      await stopAll();
      await Promise.all(features.map(({ close }) => close?.()));
    } finally {
      await database.close().finally(() => server.release());
    }
  }

  return {
    ...{ handle, database, services },
    fetch: createFetchHandler(handle),
    ingest: webhook.ingestWebhook,
    queued: () => pipeline.queued(),
    runMaintenance: maintenance.runDue,
    stopBeingReady() {
      isShuttingDown = true;
      void stopAll();
    },
    close() {
      closed ??= closeAll();
      return closed;
    },
  };
}

const migrationsOf = (features: readonly Feature[]) =>
  [ENGINE_MIGRATIONS, ...features.map(({ migrations = [] }) => migrations)].flat();

/** Connects to the database, migrates it and checks the application's tables. */
async function openDatabaseOf(
  { server, logger, features = [] }: EngineOptions,
  maxConnections: number,
  statementTimeoutMs: number,
): Promise<Database> {
  const onConnectionError = (err: Error) => logger.warn({ err }, 'database connection lost');
  const onWarning = (message: string) => logger.warn(message);
  const onRecognized = (teams: string) => logger.info({ teams }, 'columns of plans');
  const schemas = features.map((feature): FeatureSchema => ({ migrations: [], ...feature }));
  try {
    await prepareServer(server, {
      ...{ features: schemas, onConnectionError, onWarning, onRecognized },
    });
  } catch (error) {
    await server.release();
    throw error;
  }
  return server.open({ maxConnections, statementTimeoutMs, onConnectionError });
}
