import { hash } from 'node:crypto';
import type { GrantRequest } from '../access/grants.ts';
import type { TeamAccess } from '../access/team-access.ts';
import type { CompleteCheckoutRequest } from '../checkout/checkout.ts';
import { type Environment, readConfig } from '../config/config.ts';
import type { ApplicationId } from '../core/application.ts';
import {
  type GrantAuthor,
  type InstepOptions,
  logSettings,
  openService,
  type Service,
} from '../instep.ts';
import { checkConsumerName } from '../maintenance/plan-change-consumers.ts';
import type { Feed, FeedOptions, PlanChangeHandler } from '../maintenance/plan-change-feed.ts';
import type { OperateContext } from '../operate/context.ts';
import type { PlanChange, TeamChangesRequest } from '../postgres/statements/plan-changes.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { createLogger, type Logger, limitLines } from '../runtime/logging.ts';
import { retry } from '../runtime/retry.ts';
import { createFetchHandler } from '../server/fetch-handler.ts';
import { type Handler, notFound, USER_PATH, unavailable } from '../server/http-message.ts';
import { type IngestWebhook, WEBHOOK_PATH } from '../server/webhook.ts';

/** Answers requests of the Fetch API for both endpoints. */
export type FetchHandler = HandlerMethods & ((request: Request) => Promise<Response>);

/**
 * A handler for any framework that passes on a `Request`. It starts on its first request: it reads the
 * configuration, logs which database it uses, connects, and migrates Instep's own tables. All handlers in a
 * process with the same configuration share one connection pool, even after a hot reload. If the start fails,
 * the request gets a 503, the log has the reason, and the next request tries again.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const response = await handler(new Request('http://localhost/api/user'));
 * console.log(response.status, await response.json()); // 200 null
 * await handler.close();
 * ```
 */
export function createHandler(options: HandlerOptions = {}): FetchHandler {
  const { handle, serves: _, ...methods } = createLazyService(options);
  return Object.assign(createFetchHandler(handle), methods);
}

export type HandlerOptions = Partial<Omit<InstepOptions, 'now'>> & {
  /** The source of the configuration, unless `config` is given; `process.env` by default. */
  readonly environment?: Environment;
  /** Where the handler is mounted. */
  readonly paths?: HandlerPaths;
};

/** The paths of incoming requests. Health checks have no path by default. */
export type HandlerPaths = {
  /** `/api/user` by default. */
  readonly user?: string;
  /** `/api/stripe/webhook` by default. */
  readonly webhook?: string;
  /** Reports whether the process is running. */
  readonly health?: string;
  /** Reports whether requests can be served. */
  readonly readiness?: string;
};

/** The methods of every handler. */
export type HandlerMethods = {
  /** Processes a webhook that another program received, such as the consumer of a queue. */
  readonly ingest: IngestWebhook;
  /**
   * Runs the maintenance jobs that are due, and resolves when they are done or soon after `budgetMs`. With
   * `maintenance: 'on-demand'`, call it on a schedule.
   */
  runMaintenance(budgetMs: number): Promise<void>;
  /**
   * Links the customer of a completed checkout to its team, and gives the team its plan at once: call it where
   * Stripe redirects the browser to. One call to Stripe and one transaction; calling it again changes nothing,
   * and a webhook can arrive at any moment. Resolves with the team's access, as `syncCustomer` does.
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
  /**
   * Gives a team a plan without a subscription (docs/grants.md), in place of an earlier grant. `by` says who, for the
   * audit. Resolves with the team's access.
   *
   * @throws InstepError with one of the codes `GRANT_INVALID`, `NOT_FOUND` or `DATABASE_…` (docs/errors.md)
   */
  grant(teamId: ApplicationId, request: GrantRequest & GrantAuthor): Promise<TeamAccess>;
  /**
   * Ends a team's grant now. Resolves with the team's access.
   *
   * @throws InstepError with one of the codes `NO_GRANT`, `NOT_FOUND` or `DATABASE_…` (docs/errors.md)
   */
  revokeGrant(teamId: ApplicationId, author?: GrantAuthor): Promise<TeamAccess>;
  /** A context for the functions of `instep/operate` that shares the connections. */
  operateContext(): Promise<OperateContext>;
  /**
   * Stops maintenance and disconnects from the database, for all handlers of this process with the same
   * configuration. The next request connects again.
   */
  close(): Promise<void>;
};

type LazyService = HandlerMethods & {
  /** Answers 503 while the service can't be opened; the log has the reason. */
  handle: Handler;
  serves(path: string): boolean;
};

/** How often a feed tries to start. Meanwhile, the process can end. */
const STARTING = {
  isRetryable: () => true,
  firstPauseMs: 1_000,
  longestPauseMs: 60_000,
  ref: false,
};

export function createLazyService(options: HandlerOptions): LazyService {
  const { paths = {} } = options;
  const routes = new Map([
    [paths.user ?? USER_PATH, USER_PATH],
    [paths.webhook ?? WEBHOOK_PATH, WEBHOOK_PATH],
    ...(paths.health === undefined ? [] : [[paths.health, '/healthz'] as const]),
    ...(paths.readiness === undefined ? [] : [[paths.readiness, '/readyz'] as const]),
  ]);
  let resolved: InstepOptions | undefined;

  /** Reads the configuration on the first request, because a build imports the app without one. */
  function resolve(): InstepOptions {
    if (resolved !== undefined) return resolved;
    const { environment = process.env, paths: _paths, ...given } = options;
    // The configuration knows nothing of the app's pool, so a missing DATABASE_URL is not an error.
    const read =
      given.pool === undefined ? environment : { ...environment, DATABASE_URL: 'embedded' };
    const config = given.config ?? readConfig(read);
    resolved = { ...given, config, logger: given.logger ?? createLogger(config.logLevel) };
    return resolved;
  }

  const feeds = new Set<Feed>();
  let fallbackLogger: Logger | undefined;
  const writeFailure = limitLines((members) => {
    fallbackLogger ??= createLogger('info');
    const logger = options.logger ?? resolved?.logger ?? fallbackLogger;
    logger.error(members, 'Instep could not start; the next request tries again');
  });

  return {
    serves: (path) => routes.has(path),
    async handle(request) {
      const path = routes.get(request.path);
      if (path === undefined) return notFound().toResponse(request.path);
      let service: Service;
      try {
        const start = resolve();
        service = await withDeadline(openShared(start), start.config.requestDeadlineMs);
      } catch (err) {
        writeFailure({ err });
        return unavailable().toResponse(path);
      }
      return await service.handle({ ...request, path });
    },
    ingest: async (...received) => (await openShared(resolve())).ingest(...received),
    runMaintenance: async (budgetMs) => (await openShared(resolve())).runMaintenance(budgetMs),
    completeCheckout: async (...checkout) =>
      (await openShared(resolve())).completeCheckout(...checkout),
    syncCustomer: async (customerId) => (await openShared(resolve())).syncCustomer(customerId),
    access: async (teamId) => (await openShared(resolve())).access(teamId),
    planChanges: async (request) => (await openShared(resolve())).planChanges(request),
    onPlanChange(name, handler, options) {
      checkConsumerName(name);
      const stopping = new AbortController();
      // The database can be unreachable now, and a build imports the app without a configuration.
      const started = retry(() => openShared(resolve()), {
        ...STARTING,
        signal: stopping.signal,
        onRetry: (err) => writeFailure({ err }),
      }).then(
        (service) =>
          stopping.signal.aborted ? null : service.onPlanChange(name, handler, options),
        () => null,
      );
      const feed = {
        async stop() {
          stopping.abort();
          feeds.delete(feed);
          await (await started)?.stop();
        },
      };
      feeds.add(feed);
      return feed;
    },
    grant: async (...request) => (await openShared(resolve())).grant(...request),
    revokeGrant: async (...grant) => (await openShared(resolve())).revokeGrant(...grant),
    async operateContext() {
      const context = await (await openShared(resolve())).operateContext();
      const { environment = process.env, config, pool } = options;
      // The doctor reads the environment, which says nothing of what the app has given instead.
      if (config !== undefined || pool !== undefined) return context;
      return { ...context, examine: () => examineSilently(environment, context.logger) };
    },
    async close() {
      await Promise.all([...feeds].map((feed) => feed.stop()));
      if (resolved !== undefined) await closeShared(resolved);
    },
  };
}

/** For the console. The doctor is loaded when a page asks for its checks. */
export async function* examineSilently(
  environment: Environment,
  logger: Logger,
): ReturnType<NonNullable<OperateContext['examine']>> {
  const { examine } = await import('../doctor/examine.ts');
  const notice = (message: string) => logger.debug(message);
  yield* examine({ environment, url: null, notice, now: Date.now });
}

declare global {
  // A hot reload, and each bundle of an app, evaluates this module again, but a process has only one global
  // object.
  var instepServices: WeakMap<object, Map<string, Promise<Service>>> | undefined;
}

/** The services of an app's pool, or of the process. */
function servicesOf({ pool }: InstepOptions): Map<string, Promise<Service>> {
  globalThis.instepServices ??= new WeakMap();
  const owner = pool ?? globalThis;
  const services = globalThis.instepServices.get(owner) ?? new Map<string, Promise<Service>>();
  globalThis.instepServices.set(owner, services);
  return services;
}

/**
 * Opens the service of these options, unless this process has it already. A failed start is forgotten, so the
 * next call starts again. @throws the errors of `openService`
 */
function openShared(options: InstepOptions): Promise<Service> {
  const key = keyOf(options);
  const services = servicesOf(options);
  const known = services.get(key);
  if (known !== undefined) return known;
  logSettings(options);
  const opened = openService(options);
  services.set(key, opened);
  opened.catch(() => {
    if (services.get(key) === opened) services.delete(key);
  });
  return opened;
}

/** Closes the service of these options, if this process has it. The next call opens it again. */
async function closeShared(options: InstepOptions): Promise<void> {
  const key = keyOf(options);
  const services = servicesOf(options);
  const opened = services.get(key);
  services.delete(key);
  // A failed start left nothing open, and its callers got the error.
  const service = await opened?.catch(() => undefined);
  await service?.close();
}

const keys = new WeakMap<InstepOptions, string>();

/**
 * What identifies a service, computed once for each options. It is a hash, so that no secret is in it, and ignores
 * functions: if loggers differ, the first one is used.
 */
function keyOf(options: InstepOptions): string {
  const known = keys.get(options);
  if (known !== undefined) return known;
  const { logger: _logger, now: _now, pool: _pool, ...identity } = options;
  const key = hash('sha256', JSON.stringify(identity));
  keys.set(options, key);
  return key;
}
