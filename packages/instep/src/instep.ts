// Opens all parts and connects them; the only module that knows them all. `openInstep`, the handlers of adapters/ and
// the commands call `openService`.

import { type Engine, type Feature, openEngine } from 'instep-engine';
import type { Handler, IngestWebhook } from 'instep-engine/http';
import type { Ingest } from 'instep-engine/log';
import {
  type ApplicationId,
  type DatabasePool,
  type DatabaseServer,
  type PlanChange,
  type Query,
  readEncryption,
  readTeamChanges,
  type TeamChangesRequest,
} from 'instep-engine/postgres';
import type { MaintenanceMode } from 'instep-engine/repair';
import {
  type Instrumentation,
  type Logger,
  limitLines,
  NO_INSTRUMENTATION,
} from 'instep-engine/runtime';
import type { Issue, OperateContext } from 'instep-operate';
import { RefusalCounts, refusalsFeature } from 'instep-operate/feature';
import type { Exposition, MetricsSources } from 'instep-operate/metrics';
import { accessFeature } from './access/feature.ts';
import { readAccess, type TeamAccess } from './access/team-access.ts';
import {
  changesFeature,
  type Feed,
  type FeedOptions,
  type PlanChangeHandler,
} from './changes/feature.ts';
import {
  type CompleteCheckoutRequest,
  completeCheckout,
  syncCustomer,
} from './checkout/checkout.ts';
import { type AlertConfig, type Config, describeDatabase, weakSecrets } from './config/config.ts';
import { problemText } from './config/environment.ts';
import { connectToServer } from './database/connect.ts';
import { linksFeature } from './links/feature.ts';
import { OTHER_FEATURES } from './operate/other-features.ts';

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
   * What this process counts from the first call on, in the text format of Prometheus: for a route of your app that only
   * your Prometheus can reach (docs/monitor.md).
   */
  metrics(): Promise<string>;
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
  /** A context with connections of its own, so that a slow page does not delay events. */
  openContext(): OperateContext;
  /** Makes `/readyz` answer 503, so that load balancers send requests elsewhere. */
  stopBeingReady(): void;
};

export type InstepOptions = {
  readonly config: Config;
  readonly logger: Logger;
  /**
   * `false`: there is no `GET /api/user`, as with `PROFILE=off`. Then neither a table of users nor `AUTH_SECRET` is
   * needed. Otherwise, the configuration decides.
   */
  readonly profile?: boolean;
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

/** Few connections, for the operators. */
const FOR_OPERATORS = { maxConnections: 3, statementTimeoutMs: 5_000 };

/** Logs which database is used, and the warnings about the configuration. */
export function logSettings({ config, logger, pool }: InstepOptions): void {
  const database =
    pool === undefined ? describeDatabase(config.database) : 'that of the given pool';
  logger.info({ database }, 'using database');
  for (const problem of weakSecrets(config.authSecrets ?? [])) logger.warn(problemText(problem));
}

/** Opens the engine with the features, and what an app calls. */
export async function openService(options: InstepOptions): Promise<Service> {
  const { config, logger, maintenance: mode = 'background', now = Date.now } = options;
  const { linkByMetadata, accessPolicy, alerts, authSecrets } = config;
  const profile = profileIn(options);
  const refusals = new RefusalCounts(now);
  const changes = changesFeature(mode);
  async function readIssues() {
    const { checkHealth } = await import('instep-operate/host');
    const { database, services } = engine;
    const { keyMode } = services;
    return (await checkHealth({ database, keyMode, now, otherFeatures: OTHER_FEATURES })).issues;
  }
  // The reports go nowhere until the metrics are started.
  const instrumentation: Instrumentation = { ...NO_INSTRUMENTATION };
  // Anyone can send any number of forged cookies.
  const writeForeign = limitLines((members) =>
    logger.warn(members, 'session cookie with a signature of another secret: check AUTH_SECRET'),
  );
  const server = await connect(options);
  const engine: Engine = await openEngine({
    ...{ server, logger, now, instrumentation, maintenance: mode },
    planSelection: accessPolicy.planSelection,
    stripe: { ...config.stripeApi, webhookSecrets: config.webhookSecrets },
    profile:
      authSecrets === null || profile === 'off'
        ? null
        : { authSecrets, includePasswordHash: profile !== 'without password' },
    onSignatureRejected: (problem) => refusals.signatureRejected(problem),
    onSessionRead(reason) {
      refusals.sessionRead(reason);
      if (reason === 'signature') writeForeign({});
    },
    features: [
      accessFeature(accessPolicy),
      changes,
      linksFeature(linkByMetadata),
      refusalsFeature(refusals),
      alertsFeature(alerts, readIssues),
    ],
    settings: { ...config, maxConnections: options.maxConnections ?? MAX_CONNECTIONS },
  });
  const { database, services, handle, ingest, runMaintenance, close, stopBeingReady } = engine;
  const { query } = database;
  if (!server.isEmbedded) {
    logger.info({ encryption: (await readEncryption(query)) ?? 'none' }, 'connected');
  }
  const context: OperateContext = {
    ...services,
    ...{ linkByMetadata, otherFeatures: OTHER_FEATURES },
    close: async () => undefined,
  };
  const startMetrics = metricsStart(instrumentation, {
    ...{ queued: () => engine.queued(), poolUse: database.poolUse, readIssues },
  });
  return {
    ...{ handle, fetch: engine.fetch, ingest, runMaintenance, query, close, stopBeingReady },
    startMetrics,
    metrics: async () => await (await startMetrics()).expose(),
    ingestEvents: services.ingest,
    openContext() {
      const onConnectionError = (err: Error) => logger.warn({ err }, 'database connection lost');
      const opened = server.open({ ...FOR_OPERATORS, onConnectionError });
      return { ...context, database: opened, close: () => opened.close() };
    },
    completeCheckout: (...checkout) => completeCheckout(context, ...checkout),
    syncCustomer: (customerId) => syncCustomer(context, customerId),
    access: (teamId) => readAccess(query, teamId),
    onPlanChange: changes.onPlanChange,
    planChanges: (request) => readTeamChanges(query, request),
    operateContext: async () => context,
  };
}

const profileIn = ({ profile, config }: InstepOptions) =>
  profile === false ? 'off' : config.database.tables.profile;

/** Finds the database that the configuration or the app names. */
async function connect(options: InstepOptions): Promise<DatabaseServer> {
  const { config, logger, pool } = options;
  return await connectToServer({
    ...config.database,
    pool,
    tables: { ...config.database.tables, profile: profileIn(options) },
    notice: (message) => logger.info(message),
  });
}

/** Alerts about new and resolved issues; none without a receiver. It is loaded with the other jobs. */
const alertsFeature = (
  alerts: AlertConfig | null,
  readIssues: () => Promise<readonly Issue[]>,
): Feature => ({
  name: 'alerts',
  async jobs({ database: { query }, now, nonce }, mode) {
    if (alerts === null || mode === 'off') return [];
    const { createAlertsJob } = await import('instep-operate/host');
    return [createAlertsJob({ query, alerts, readIssues, now, holder: nonce() })];
  },
});

/** At the first call, prom-client is loaded, and `instrumentation` begins to count. */
function metricsStart(
  instrumentation: Instrumentation,
  sources: MetricsSources,
): () => Promise<Exposition> {
  let started: Promise<Exposition> | undefined;
  async function start(): Promise<Exposition> {
    const { createMetrics } = await import('instep-operate/metrics');
    const metrics = createMetrics(sources);
    Object.assign(instrumentation, metrics.instrumentation);
    return metrics.exposition;
  }
  return () => {
    started ??= start();
    return started;
  };
}
