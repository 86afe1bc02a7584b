// Opens all parts and connects them; the only module that knows them all. `openInstep`, the handlers of adapters/ and
// the commands call `openService`.

import { randomUUID } from 'node:crypto';
import {
  createFetchHandler,
  type Handler,
  type IngestWebhook,
  ReadinessEndpoint,
  Router,
  SessionReader,
  secretKeys,
  UserEndpoint,
  WebhookEndpoint,
} from 'instep-engine/http';
import { type Ingest, IngestPipeline } from 'instep-engine/log';
import {
  type ApplicationId,
  checkSchema,
  checkWritable,
  type DatabasePool,
  type DeclaredTables,
  type PlanChange,
  type Query,
  readTeamChanges,
  type TeamChangesRequest,
} from 'instep-engine/postgres';
import { FailedJobs, type MaintenanceMode, openMaintenance } from 'instep-engine/repair';
import {
  type Instrumentation,
  type Logger,
  limitLines,
  NO_INSTRUMENTATION,
  withDeadline,
} from 'instep-engine/runtime';
import {
  createEventRetrieval,
  createStripeApi,
  keyKindOf,
  SignatureVerifier,
} from 'instep-engine/stripe';
import {
  readAccess,
  reportOtherPolicy,
  storePolicy,
  type TeamAccess,
} from './access/team-access.ts';
import {
  type Feed,
  type FeedCall,
  type FeedOptions,
  PlanChangeConsumers,
  type PlanChangeHandler,
} from './changes/plan-change-feed.ts';
import {
  type CompleteCheckoutRequest,
  completeCheckout,
  syncCustomer,
} from './checkout/checkout.ts';
import { type Config, describeDatabase, weakSecrets } from './config/config.ts';
import { checkedTables } from './config/database.ts';
import { problemText } from './config/environment.ts';
import { connectToServer, type DatabaseServer, prepareDatabase } from './database/connect.ts';
import { createRefusalsJob, RefusalCounts } from './health/refusals.ts';
import { linksByMetadata } from './links/link-by-metadata.ts';
import { createLinkJob } from './links/link-waiting.ts';
import type { GaugeSources } from './metrics/gauges.ts';
import type { Exposition } from './metrics/metrics.ts';
import { formSecretOf, type OperateContext } from './operate/context.ts';

/** What an app can call, of every handler. */
export type HandlerMethods = {
  /** Processes a webhook that another program received, such as the consumer of a queue. */
  readonly ingest: IngestWebhook;
  /**
   * With `maintenance: 'on-demand'`, call it on a schedule: it runs the maintenance jobs that are due, and resolves when
   * they are done or soon after `budgetMs`. Otherwise it does nothing, because what is due runs in the background.
   */
  runMaintenance(budgetMs: number): Promise<void>;
  /**
   * Links the customer of a completed checkout to its team, and gives the team its plan at once: call it where
   * Stripe redirects the browser to. It makes one call to Stripe; calling it again changes nothing, and a
   * webhook can arrive at any moment. Resolves with the team's access, as `syncCustomer` does.
   *
   * @throws InstepError with one of the codes `CHECKOUT_NOT_COMPLETE`, `CHECKOUT_OF_ANOTHER_TEAM`,
   * `TEAM_HAS_ANOTHER_CUSTOMER`, `NOT_FOUND`, `STRIPE_UNAVAILABLE`, `DEADLINE_EXCEEDED` (after 5 s) or
   * `DATABASE_…` (docs/errors.md)
   */
  completeCheckout(sessionId: string, request: CompleteCheckoutRequest): Promise<TeamAccess>;
  /**
   * Gives a customer's team the plan that Stripe's list of the customer's subscriptions yields now.
   *
   * @throws InstepError with one of the codes `CUSTOMER_WITHOUT_TEAM`, `CUSTOMER_UNKNOWN`, `STRIPE_UNAVAILABLE`,
   * `DEADLINE_EXCEEDED` (after 5 s) or `DATABASE_…` (docs/errors.md)
   */
  syncCustomer(customerId: string): Promise<TeamAccess>;
  /**
   * Whether a team may use the product now, why, and until when (docs/access.md): a row of the view
   * `instep.team_access`. `null` if there is no team with this id.
   *
   * @throws InstepError with a code such as `DATABASE_UNAVAILABLE`
   */
  access(teamId: ApplicationId): Promise<TeamAccess | null>;
  /**
   * Calls `handler` with every change of a team's plan (docs/changes.md), at least once and in order for each team,
   * also with changes that were made while no process was running. The database keeps how far the consumer `name`
   * is, and one process at a time works for it. If the handler throws or rejects, it is called again later, and the
   * changes of other teams go on. It runs until `stop()` or `close()`; with `maintenance: 'on-demand'` only in
   * `runMaintenance`.
   *
   * @throws InstepError: `CONSUMER_NAME_INVALID`
   */
  onPlanChange(name: string, handler: PlanChangeHandler, options?: FeedOptions): Feed;
  /**
   * The changes of a team's plan (docs/changes.md), the newest first.
   *
   * @throws InstepError with a code such as `DATABASE_UNAVAILABLE`
   */
  planChanges(request: TeamChangesRequest): Promise<PlanChange[]>;
  /** A context for the functions of `instep/operate` that shares the connections. */
  operateContext(): Promise<OperateContext>;
  /**
   * Stops maintenance and disconnects from the database, for all handlers of this process with the same
   * configuration. The next request connects again.
   */
  close(): Promise<void>;
};

/** A running Instep. */
export type Instep = HandlerMethods & {
  /** Answers a request of the Fetch API: both endpoints, `/healthz` and `/readyz`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same without the Fetch API, for `listen`. */
  readonly handle: Handler;
  /**
   * Counts what this process does from now on, and resolves with its metrics in the text format of Prometheus, the same
   * ones for each call. Until the first call nothing is counted, and prom-client is not loaded.
   */
  startMetrics(): Promise<Exposition>;
  /** Runs a statement in Instep's database, for example in a test of your app. */
  readonly query: (
    statement: string,
    values?: readonly unknown[],
  ) => Promise<Record<string, unknown>[]>;
};

/** An `Instep` with what a server process needs in addition. */
export type Service = Instep & {
  readonly query: Query;
  /** The pipeline's `ingest()`. */
  readonly ingestEvents: Ingest;
  readonly databaseServer: DatabaseServer;
  onPlanChange(name: string, handler: PlanChangeHandler, call?: FeedCall): Feed;
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
const MINUTE_MS = 60_000;

/** A database that does not answer must not delay the end of the process. */
const STORE_REFUSALS_MS = 1_000;

/** Logs which database is used, and the warnings about the configuration. */
export function logSettings({ config, logger, pool }: InstepOptions): void {
  const database =
    pool === undefined ? describeDatabase(config.database) : 'that of the given pool';
  logger.info({ database }, 'using database');
  for (const problem of weakSecrets(config.authSecrets)) logger.warn(problemText(problem));
}

/** Opens a service from the bottom up: the database, the ingest pipeline, maintenance, the endpoints. */
export async function openService(options: InstepOptions): Promise<Service> {
  const { config, logger, maintenance: mode = 'background', now = Date.now } = options;
  // Shorter than the deadline of the request, so that the error names the cause.
  const timeoutMs = Math.ceil(config.requestDeadlineMs * 0.8);
  const { server, database } = await openDatabase(options, timeoutMs);
  const { query } = database;
  await storePolicy(query, config.accessPolicy).catch((err) =>
    logger.warn({ err }, 'the access policy was not stored'),
  );
  const { planSelection, linkByMetadata } = config;
  const { keepsPaused } = config.accessPolicy;
  const keyMode = keyKindOf(config.stripeApi.secretKey).mode;
  async function readHealth() {
    const { reportHealth } = await import('./operate/health.ts');
    const nowMs = now();
    return await reportHealth(database, { keyMode, nowMs });
  }
  // The reports go nowhere until the metrics are started.
  const instrumentation: Instrumentation = { ...NO_INSTRUMENTATION };
  const startMetrics = metricsStart(instrumentation, {
    queued: () => pipeline.queued(),
    poolUse: database.poolUse,
    readHealth,
    now,
  });
  const refusals = new RefusalCounts(now);
  const stripeApi = { ...config.stripeApi, instrumentation };
  const api = createStripeApi(stripeApi);
  const ingesting = { database, api, logger, planSelection, keepsPaused, linkByMetadata, keyMode };
  const linking = { database, logger, key: linkByMetadata, keyMode, deadlineMs: timeoutMs };
  const pipeline = new IngestPipeline({
    ...ingesting,
    onUnlinked: linksByMetadata(linking),
    maxQueued: config.maxQueuedEvents,
    timeoutMs,
    instrumentation,
  });
  const { ingest, settle, nameOf } = pipeline;
  const clockMs = () => performance.now();
  const context: OperateContext = {
    ...{ ...ingesting, ingest, settle, nameOf, now, clockMs, nonce: randomUUID },
    // It protects the forms of the console against other sites.
    formSecret: formSecretOf(config.stripeApi.secretKey),
    close: async () => undefined,
  };

  const isOnDemand = mode === 'on-demand';
  const failedJobs = new FailedJobs(query, logger);
  const consumers = new PlanChangeConsumers({ database, logger, holder: randomUUID(), isOnDemand });
  const loadJobs = async () => {
    const refusalsJob = createRefusalsJob(query, refusals);
    // What this process refuses is counted nowhere else.
    if (mode === 'off') return [refusalsJob];
    const { createJobs } = await import('instep-engine/repair');
    const jobs = [...createJobs({ ...context, failedJobs }, config), refusalsJob];
    if (linkByMetadata !== null) {
      const links = { database, settle, logger, keyMode, key: linkByMetadata };
      jobs.push(createLinkJob(links, randomUUID()));
    }
    // On demand, nothing tells when the app stops.
    if (mode === 'background') {
      const run = () => reportOtherPolicy(query, config.accessPolicy);
      jobs.push({ name: 'access-policy', intervalMs: MINUTE_MS, run });
    }
    if (config.alerts !== null) {
      const { createAlertsJob } = await import('./operate/alerts.ts');
      const readIssues = async () => (await readHealth()).issues;
      const holder = randomUUID();
      jobs.push(createAlertsJob({ query, alerts: config.alerts, readIssues, now, holder }));
    }
    return jobs;
  };
  const maintenance = openMaintenance(isOnDemand, loadJobs, {
    logger,
    instrumentation,
    failedJobs,
    otherJobs: () => (isOnDemand ? consumers.jobs() : []),
  });

  const webhook = new WebhookEndpoint({
    verifier: new SignatureVerifier(config.webhookSecrets, {
      signatureMatched: (timestampSeconds) => instrumentation.signatureMatched(timestampSeconds),
      signatureRejected(problem) {
        instrumentation.signatureRejected(problem);
        if (problem === 'wrong') refusals.refuse('deliveries');
      },
    }),
    pipeline,
    retrieveEvent: createEventRetrieval(stripeApi),
    keyMode,
    instrumentation,
    logger,
    now,
    nonce: randomUUID,
    maxBodyBytes: config.maxBodyBytes,
    requestDeadlineMs: config.requestDeadlineMs,
  });
  // Anyone can send any number of forged cookies.
  const writeForeign = limitLines((members) =>
    logger.warn(members, 'session cookie with a signature of another secret: check AUTH_SECRET'),
  );
  const sessions = new SessionReader(secretKeys(config.authSecrets), now, (reason) => {
    if (reason === '' || reason === 'expired') refusals.acceptSession();
    if (reason !== 'signature') return;
    refusals.refuse('sessions');
    writeForeign({});
  });
  const { profile } = config.database.tables;
  let isShuttingDown = false;
  const router = new Router({
    user:
      profile === 'off'
        ? null
        : new UserEndpoint({
            sessions,
            query,
            maxQueued: config.maxQueuedEvents,
            includePasswordHash: profile !== 'without password',
            requestDeadlineMs: config.requestDeadlineMs,
          }),
    webhook,
    readiness: new ReadinessEndpoint({
      isShuttingDown: () => isShuttingDown,
      async checkDatabase() {
        await checkSchema(query);
        await checkWritable(query);
      },
      logger,
    }),
    instrumentation,
    logger,
  });
  const handle: Handler = (request) => router.handle(request);

  let closed: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    try {
      await Promise.all([maintenance.stop(), consumers.stopAll()]);
      await withDeadline(refusals.store(query), STORE_REFUSALS_MS).catch((err) =>
        logger.warn({ err }, 'the refusals of the last minute were not counted'),
      );
    } finally {
      await database.close().finally(() => server.release());
    }
  }

  return {
    handle,
    fetch: createFetchHandler(handle),
    ingest: webhook.ingestWebhook,
    runMaintenance: maintenance.runDue,
    startMetrics,
    query,
    ingestEvents: ingest,
    databaseServer: server,
    completeCheckout: (...checkout) => completeCheckout(context, ...checkout),
    syncCustomer: (customerId) => syncCustomer(context, customerId),
    access: (teamId) => readAccess(query, teamId),
    onPlanChange: (...consumer) => consumers.start(...consumer),
    planChanges: (request) => readTeamChanges(query, request),
    operateContext: async () => context,
    stopBeingReady() {
      isShuttingDown = true;
      void maintenance.stop();
      void consumers.stopAll();
    },
    close() {
      closed ??= closeAll();
      return closed;
    },
  };
}

/** Connects to the database, migrates it and checks the application's tables. */
async function openDatabase(options: InstepOptions, statementTimeoutMs: number) {
  const { config, logger, pool, maxConnections = MAX_CONNECTIONS } = options;
  const onConnectionError = (err: Error) => logger.warn({ err }, 'database connection lost');
  const server = await connectToServer({
    ...config.database,
    pool,
    tables: {
      ...(options.tables === undefined ? config.database.tables : checkedTables(options.tables)),
      profile: config.database.tables.profile,
    },
    notice: (message) => logger.info(message),
  });
  try {
    const onWarning = (message: string) => logger.warn(message);
    const onRecognized = (teams: string) => logger.info({ teams }, 'columns of plans');
    await prepareDatabase(server, { onConnectionError, onWarning, onRecognized });
  } catch (error) {
    await server.release();
    throw error;
  }
  const database = server.open({ maxConnections, statementTimeoutMs, onConnectionError });
  return { server, database };
}

/** At the first call, prom-client is loaded, and `instrumentation` begins to count. */
function metricsStart(
  instrumentation: Instrumentation,
  sources: GaugeSources,
): () => Promise<Exposition> {
  let started: Promise<Exposition> | undefined;
  async function start(): Promise<Exposition> {
    const { createMetrics } = await import('./metrics/metrics.ts');
    const metrics = createMetrics(sources);
    Object.assign(instrumentation, metrics.instrumentation);
    return metrics.exposition;
  }
  return () => {
    started ??= start();
    return started;
  };
}
