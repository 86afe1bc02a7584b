import { randomUUID } from 'node:crypto';
import { createFetchHandler } from './adapters/fetch.ts';
import { type Config, configWarnings, describeDatabase } from './config/config.ts';
import type { Ingest } from './ingest/pipeline.ts';
import { createIngestPipeline } from './ingest/pipeline.ts';
import { createJobs } from './maintenance/jobs.ts';
import { startMaintenance } from './maintenance/worker.ts';
import type { Exposition } from './operations/metrics/exposition.ts';
import { createMetrics, type Metrics } from './operations/metrics/metrics.ts';
import { connectToServer, type DatabaseServer } from './postgres/connect.ts';
import type { Query } from './postgres/database.ts';
import { checkSchema } from './postgres/migrate.ts';
import { readHealth } from './queries/health.ts';
import { prepareDatabase } from './queries/prepare-database.ts';
import type { Logger } from './runtime/logging.ts';
import type { Handler } from './server/http-message.ts';
import { createRouter } from './server/router.ts';
import { createRoutes } from './server/routes.ts';
import { createSessionReader } from './sessions/session-reader.ts';
import { secretKeys } from './sessions/token.ts';
import { createUserLookup } from './sessions/user-lookup.ts';
import { createStripeApi } from './stripe/api.ts';
import { createEventRetrieval } from './stripe/notified-event.ts';
import { createSignatureVerifier } from './stripe/signature.ts';

/** A running Instep. */
export type Instep = {
  /** Answers a request of the Fetch API: both endpoints, `/healthz` and `/readyz`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for `listen`, without the Fetch API. */
  readonly handle: Handler;
  /** Metrics of this process in the text format of Prometheus. */
  readonly metrics: Exposition;
  /** Runs a statement in Instep's database, in a test of your app for example. */
  readonly query: (
    statement: string,
    values?: readonly unknown[],
  ) => Promise<Record<string, unknown>[]>;
  /** Stops maintenance and disconnects from the database. An answered event is already stored. */
  close(): Promise<void>;
};

/** What a server process needs besides. */
export type Service = Instep & {
  readonly metrics: Metrics;
  readonly query: Query;
  readonly ingest: Ingest;
  readonly databaseServer: DatabaseServer;
  /** Makes `/readyz` answer 503, so that load balancers send requests elsewhere. */
  stopBeingReady(): void;
};

export type InstepOptions = {
  readonly config: Config;
  readonly logger: Logger;
  /** In milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
};

const MAX_CONNECTIONS = 10;

/** The first call of Stripe's API loads its SDK, which the start does not wait for. */
const MAINTENANCE_STARTS_AFTER_MS = 500;

/** Writes which database is used, and the warnings about the configuration. */
export function logSettings({ config, logger }: InstepOptions): void {
  logger.info({ database: describeDatabase(config.database) }, 'using database');
  for (const warning of configWarnings(config)) logger.warn(warning);
}

/** Connects to the database, migrates it, checks the application's tables and starts maintenance. */
export async function openService({
  config,
  logger,
  now = Date.now,
}: InstepOptions): Promise<Service> {
  const onConnectionError = (err: Error) => logger.warn({ err }, 'database connection lost');
  const notice = (message: string) => logger.info(message);
  const server = await connectToServer({ ...config.database, notice });
  try {
    await prepareDatabase(server, onConnectionError);
  } catch (error) {
    await server.release();
    throw error;
  }

  // Shorter than the deadline of the request, so that the error names the cause.
  const timeoutMs = Math.ceil(config.requestDeadlineMs * 0.8);
  const database = server.open({
    maxConnections: MAX_CONNECTIONS,
    statementTimeoutMs: timeoutMs,
    onConnectionError,
  });
  const { query } = database;
  const { maxQueuedEvents: maxQueued, planSelection } = config;
  const metrics = createMetrics({
    queued: () => pipeline.queued(),
    poolUse: database.poolUse,
    readHealth: () => readHealth(query),
    now,
    clockMs: () => performance.now(),
  });
  const stripeApi = { ...config.stripeApi, instrumentation: metrics };
  const api = createStripeApi(stripeApi);
  const pipeline = createIngestPipeline({
    database,
    api,
    logger,
    planSelection,
    maxQueued,
    timeoutMs,
    instrumentation: metrics,
  });
  const { ingest, productNames } = pipeline;

  const jobs = createJobs({
    database,
    ingest,
    api,
    productNames,
    planSelection,
    logger,
    now,
    nonce: randomUUID,
    catchUpIntervalMs: config.catchUpIntervalMs,
    reconcileIntervalMs: config.reconcileIntervalMs,
    retentionMs: config.eventRetentionMs,
  });
  const maintenance = startMaintenance(jobs, {
    logger,
    instrumentation: metrics,
    startAfterMs: MAINTENANCE_STARTS_AFTER_MS,
  });

  let isShuttingDown = false;
  const { requestDeadlineMs } = config;
  const routes = createRoutes({
    user: {
      readSession: createSessionReader(secretKeys(config.authSecrets), now),
      findUser: createUserLookup(query, maxQueued),
      includePasswordHash: config.includePasswordHash,
      requestDeadlineMs,
    },
    webhook: {
      verifySignature: createSignatureVerifier(config.webhookSecrets, now, metrics),
      ingest,
      retrieveEvent: createEventRetrieval(stripeApi),
      hasRoom: pipeline.hasRoom,
      instrumentation: metrics,
      logger,
      now,
      nonce: randomUUID,
      maxBodyBytes: config.maxBodyBytes,
      requestDeadlineMs,
    },
    readiness: {
      isShuttingDown: () => isShuttingDown,
      checkDatabase: () => checkSchema(query),
      logger,
    },
    logger,
  });
  const handle = createRouter(routes, metrics);

  return {
    handle,
    fetch: createFetchHandler(handle),
    metrics,
    ingest,
    query,
    databaseServer: server,
    stopBeingReady() {
      isShuttingDown = true;
      void maintenance.stop();
    },
    async close() {
      await maintenance.stop();
      await database.close();
      await server.release();
    },
  };
}
