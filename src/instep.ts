import { randomUUID } from 'node:crypto';
import { type Config, configWarnings, describeDatabase } from './config/config.ts';
import { checkedTables } from './config/tables.ts';
import { createIngestPipeline, type Ingest } from './ingest/pipeline.ts';
import { createOnDemandMaintenance, type MaintenanceMode } from './maintenance/on-demand.ts';
import { createRunsJob } from './maintenance/runs.ts';
import { startMaintenance } from './maintenance/worker.ts';
import type { Exposition } from './operations/metrics/exposition.ts';
import { createMetrics, type Metrics } from './operations/metrics/metrics.ts';
import { connectToServer, type DatabaseServer } from './postgres/connect.ts';
import type { Query } from './postgres/database.ts';
import type { DatabasePool } from './postgres/database-pool.ts';
import { checkSchema } from './postgres/migrate.ts';
import type { DeclaredTables } from './postgres/tables/application-tables.ts';
import { commitNothing } from './queries/commit-nothing.ts';
import { readHealth } from './queries/health.ts';
import { prepareDatabase } from './queries/prepare-database.ts';
import type { Logger } from './runtime/logging.ts';
import { outsideSpans } from './runtime/tracing.ts';
import { createFetchHandler } from './server/fetch-handler.ts';
import type { Handler } from './server/http-message.ts';
import { createIngestWebhook, type IngestWebhook } from './server/ingest-webhook.ts';
import { createRouter } from './server/router.ts';
import { createWriteCheck } from './server/write-check.ts';
import { createSessionReader } from './sessions/session-reader.ts';
import { secretKeys } from './sessions/token.ts';
import { createUserLookup } from './sessions/user-lookup.ts';
import { createStripeApi } from './stripe/api.ts';
import { keyKindOf } from './stripe/key-kind.ts';
import { createEventRetrieval } from './stripe/notified-event.ts';
import { createSignatureVerifier } from './stripe/signature.ts';

/** A running Instep. */
export type Instep = {
  /** Answers a request of the Fetch API: both endpoints, `/healthz` and `/readyz`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same without the Fetch API, for `listen`. */
  readonly handle: Handler;
  readonly ingest: IngestWebhook;
  /**
   * Runs the maintenance jobs that are due, and resolves when they are done or soon after `budgetMs`. For
   * `maintenance: 'on-demand'`.
   */
  runMaintenance(budgetMs: number): Promise<void>;
  /** Metrics of this process in the text format of Prometheus. */
  readonly metrics: Exposition;
  /** Runs a statement in Instep's database, for example in a test of your app. */
  readonly query: (
    statement: string,
    values?: readonly unknown[],
  ) => Promise<Record<string, unknown>[]>;
  /** Stops maintenance and disconnects from the database. An answered event is already stored. */
  close(): Promise<void>;
};

/** An `Instep` with what a server process needs in addition. */
export type Service = Instep & {
  readonly metrics: Metrics;
  readonly query: Query;
  readonly ingestEvents: Ingest;
  readonly databaseServer: DatabaseServer;
  /** Makes `/readyz` answer 503, so that load balancers send requests elsewhere. */
  stopBeingReady(): void;
};

export type InstepOptions = {
  readonly config: Config;
  readonly logger: Logger;
  /** Your names for tables and columns, as in `INSTEP_TABLES`, which they replace. */
  readonly tables?: DeclaredTables;
  /** The maximum number of connections to the database; 10 by default. */
  readonly maxConnections?: number;
  /**
   * An existing `pg` pool of the app, used instead of connections of our own. It limits their number, and
   * stays open on close. Each transaction sets our timeouts.
   */
  readonly pool?: DatabasePool;
  /** `background` by default. */
  readonly maintenance?: MaintenanceMode;
  /** The current time in milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
};

const MAX_CONNECTIONS = 10;

/** Delays loading the jobs' modules, so that neither the start nor the first requests wait for them. */
const MAINTENANCE_STARTS_AFTER_MS = 500;

/** Logs which database is used, and the warnings about the configuration. */
export function logSettings({ config, logger, pool }: InstepOptions): void {
  const database =
    pool === undefined ? describeDatabase(config.database) : 'that of the given pool';
  logger.info({ database }, 'using database');
  for (const warning of configWarnings(config)) logger.warn(warning);
}

/** Connects to the database, migrates it, checks the application's tables and starts maintenance. */
export async function openService({
  config,
  logger,
  tables = config.database.tables,
  maxConnections = MAX_CONNECTIONS,
  pool,
  maintenance = 'background',
  now = Date.now,
}: InstepOptions): Promise<Service> {
  const onConnectionError = (err: Error) => logger.warn({ err }, 'database connection lost');
  const notice = (message: string) => logger.info(message);
  const server = await connectToServer({
    ...config.database,
    pool,
    tables: checkedTables(tables),
    notice,
  });
  try {
    await Promise.all([
      prepareDatabase(server, onConnectionError),
      // Load them now: during a flood of connections no file could be opened.
      maintenance === 'background' && import('./maintenance/jobs.ts'),
    ]);
  } catch (error) {
    await server.release();
    throw error;
  }

  // Shorter than the deadline of the request, so that the error names the cause.
  const timeoutMs = Math.ceil(config.requestDeadlineMs * 0.8);
  const database = server.open({
    maxConnections,
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

  const loadJobs = async () => {
    const { createJobs } = await import('./maintenance/jobs.ts');
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
    // On demand, Instep does not run between requests.
    return maintenance === 'background' ? [...jobs, createRunsJob(query)] : jobs;
  };
  const jobOptions = { logger, instrumentation: metrics };
  const onDemand = createOnDemandMaintenance(
    maintenance === 'off' ? async () => [] : loadJobs,
    jobOptions,
  );
  const worker =
    maintenance === 'background'
      ? startMaintenance(loadJobs, { ...jobOptions, startAfterMs: MAINTENANCE_STARTS_AFTER_MS })
      : onDemand;

  const checkWrites = createWriteCheck({
    lastCommitMs: pipeline.lastCommitMs,
    // Requests share this commit, so it belongs to no request's span.
    commit: () => outsideSpans(() => commitNothing(database)),
    clockMs: () => performance.now(),
  });
  let isShuttingDown = false;
  const { requestDeadlineMs } = config;
  const webhook = {
    ingest,
    retrieveEvent: createEventRetrieval(stripeApi),
    keyMode: keyKindOf(config.stripeApi.secretKey).mode,
    hasRoom: pipeline.hasRoom,
    instrumentation: metrics,
    logger,
    now,
    nonce: randomUUID,
    maxBodyBytes: config.maxBodyBytes,
    requestDeadlineMs,
  };
  const handle = createRouter({
    user: {
      readSession: createSessionReader(secretKeys(config.authSecrets), now),
      findUser: createUserLookup(query, maxQueued),
      includePasswordHash: config.includePasswordHash,
      requestDeadlineMs,
    },
    webhook: {
      ...webhook,
      verifySignature: createSignatureVerifier(config.webhookSecrets, now, metrics),
    },
    readiness: {
      isShuttingDown: () => isShuttingDown,
      async checkDatabase() {
        await checkSchema(query);
        await checkWrites();
      },
      logger,
    },
    instrumentation: metrics,
    logger,
  });

  return {
    handle,
    fetch: createFetchHandler(handle),
    ingest: createIngestWebhook({ ...webhook, webhookSecrets: config.webhookSecrets }),
    runMaintenance: (budgetMs) => onDemand.runDue(budgetMs),
    metrics,
    query,
    ingestEvents: ingest,
    databaseServer: server,
    stopBeingReady() {
      isShuttingDown = true;
      void worker.stop();
    },
    async close() {
      await Promise.all([worker.stop(), onDemand.stop()]);
      await database.close();
      await server.release();
    },
  };
}
