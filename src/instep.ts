import { randomUUID } from 'node:crypto';
import { createFetchHandler } from './adapters/fetch.ts';
import type { Config } from './config/config.ts';
import type { Ingest } from './ingest/pipeline.ts';
import { createIngestPipeline } from './ingest/pipeline.ts';
import { createJobs } from './maintenance/jobs.ts';
import { startMaintenance } from './maintenance/worker.ts';
import { createMetrics, type Metrics } from './operations/metrics/metrics.ts';
import { connectToServer, type DatabaseServer } from './postgres/connect.ts';
import type { Query } from './postgres/database.ts';
import { checkSchema } from './postgres/migrate.ts';
import { readHealth } from './queries/health.ts';
import { prepareDatabase } from './queries/prepare-database.ts';
import { InstepError } from './runtime/errors.ts';
import type { Logger } from './runtime/logging.ts';
import type { Handler } from './server/http-message.ts';
import { createRouter } from './server/router.ts';
import { createRoutes } from './server/routes.ts';
import { createSessionReader } from './sessions/session-reader.ts';
import { secretKeys } from './sessions/token.ts';
import { createUserLookup } from './sessions/user-lookup.ts';
import { createStripeApi } from './stripe/api.ts';
import { createSignatureVerifier } from './stripe/signature.ts';

/** One running Instep: mount `fetch` wherever a Web-standard handler goes. */
export type Instep = {
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for `listen`, which needs no Fetch API. */
  readonly handle: Handler;
  readonly ingest: Ingest;
  readonly metrics: Metrics;
  /** The database, for whoever composes more around it. */
  readonly query: Query;
  /** For whoever needs connections of their own. */
  readonly databaseServer: DatabaseServer;
  /** From now on `/readyz` says no, so that balancers send nothing more. */
  stopBeingReady(): void;
  /** Leaves the database. What was accepted is stored already. */
  close(): Promise<void>;
};

export type InstepOptions = {
  readonly config: Config;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now?: () => number;
};

class ShuttingDown extends InstepError {
  readonly code = 'SHUTTING_DOWN';
}

const MAX_CONNECTIONS = 10;

/** The first call of Stripe's API loads its SDK, which the start does not wait for. */
const MAINTENANCE_STARTS_AFTER_MS = 500;

/**
 * Connects to the database, migrates it and checks the application's tables.
 *
 * @throws DatabaseUnavailable, SchemaNewer, ApplicationTablesUnfit, or the errors of the embedded
 * database, each with what to do
 */
export async function openInstep({
  config,
  logger,
  now = Date.now,
}: InstepOptions): Promise<Instep> {
  const onConnectionError = (err: Error) => logger.warn({ err }, 'database connection lost');
  const notice = (message: string) => logger.info(message);
  const server = await connectToServer({ ...config.database, notice });
  try {
    await prepareDatabase(server, onConnectionError);
  } catch (error) {
    await server.release();
    throw error;
  }

  const database = server.open({
    maxConnections: MAX_CONNECTIONS,
    // Late enough to be of use, and early enough that the answer is ours and not the deadline's.
    statementTimeoutMs: Math.ceil(config.requestDeadlineMs * 0.8),
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
  const api = createStripeApi({ ...config.stripeApi, instrumentation: metrics });
  const pipeline = createIngestPipeline({
    database,
    api,
    logger,
    now,
    planSelection,
    maxQueued,
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
      hasRoom: pipeline.hasRoom,
      instrumentation: metrics,
      logger,
      now,
      nonce: randomUUID,
      maxBodyBytes: config.maxBodyBytes,
      requestDeadlineMs,
    },
    readiness: {
      async checkReady() {
        if (isShuttingDown) throw new ShuttingDown('shutting down');
        await checkSchema(query);
      },
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
