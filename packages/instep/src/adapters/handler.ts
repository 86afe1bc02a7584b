// Instep inside an app: `createHandler`, and what next.ts and node.ts share. Hides that a process has one service for
// each configuration, opened with the first request.

import { hash } from 'node:crypto';
import {
  createFetchHandler,
  type HttpRequest,
  type HttpResponse,
  notFound,
  USER_PATH,
  unavailable,
  WEBHOOK_PATH,
} from 'instep-engine/http';
import type { MaintenanceMode } from 'instep-engine/repair';
import { createLogger, type Logger, limitLines, retry, withDeadline } from 'instep-engine/runtime';
import type { OperateContext } from 'instep-operate';
import { checkConsumerName } from '../changes/consumers.ts';
import type { Feed, FeedOptions, PlanChangeHandler } from '../changes/feature.ts';
import { type Environment, readConfig } from '../config/config.ts';
import {
  type HandlerMethods,
  type InstepOptions,
  logSettings,
  openService,
  type Service,
} from '../instep.ts';

export type { HandlerMethods } from '../instep.ts';

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
  const service = new LazyService(options);
  return Object.assign(
    createFetchHandler((request) => service.handle(request)),
    service.methods,
  );
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

/** The variables of platforms whose processes run only while they handle a request: Vercel, AWS Lambda, Cloud Run, Azure. */
const FREEZES = [
  'VERCEL',
  'AWS_LAMBDA_FUNCTION_NAME',
  'K_SERVICE',
  'FUNCTIONS_WORKER_RUNTIME',
] as const;

/** How often a feed tries to start. Meanwhile, the process can end. */
const START_RETRIES = {
  isRetryable: () => true,
  firstPauseMs: 1_000,
  longestPauseMs: 60_000,
  ref: false,
};

/** The service of a handler, opened on the first request. */
export class LazyService {
  #options: HandlerOptions;
  #routes: ReadonlyMap<string, string>;
  #shared: ReturnType<typeof shareService> | undefined;
  #feeds = new Set<Feed>();

  constructor(options: HandlerOptions) {
    const { paths = {} } = options;
    this.#options = options;
    this.#routes = new Map([
      [paths.user ?? USER_PATH, USER_PATH],
      [paths.webhook ?? WEBHOOK_PATH, WEBHOOK_PATH],
      ...(paths.health === undefined ? [] : [[paths.health, '/healthz'] as const]),
      ...(paths.readiness === undefined ? [] : [[paths.readiness, '/readyz'] as const]),
    ]);
  }

  /** The paths that it answers. */
  paths(): readonly string[] {
    return [...this.#routes.keys()].filter((path) => this.serves(path));
  }

  serves(path: string): boolean {
    return this.#routeOf(path) !== undefined;
  }

  #routeOf(path: string): string | undefined {
    const route = this.#routes.get(path);
    if (route !== USER_PATH) return route;
    // Not read before, because an app can load its variables after its modules.
    const { profile, config, environment = process.env } = this.#options;
    const setting = config === undefined ? environment.PROFILE : config.database.tables.profile;
    return profile === false || setting === 'off' ? undefined : route;
  }

  /** Answers 503 while the service can't be opened; the log has the reason. */
  async handle(request: HttpRequest): Promise<HttpResponse> {
    const path = this.#routeOf(request.path);
    if (path === undefined) return notFound().toResponse(request.path);
    let service: Service;
    try {
      const shared = this.#share();
      service = await withDeadline(shared.open(), shared.options.config.requestDeadlineMs);
    } catch (err) {
      this.#writeFailure({ err });
      return unavailable().toResponse(path);
    }
    return await service.handle({ ...request, path });
  }

  /** Own members, so that a handler can have them. */
  readonly methods: HandlerMethods = {
    ingest: async (...webhook) => (await this.#open()).ingest(...webhook),
    runMaintenance: async (budgetMs) => (await this.#open()).runMaintenance(budgetMs),
    metrics: async () => await (await this.#open()).metrics(),
    completeCheckout: async (...checkout) => (await this.#open()).completeCheckout(...checkout),
    syncCustomer: async (customerId) => (await this.#open()).syncCustomer(customerId),
    access: async (teamId) => (await this.#open()).access(teamId),
    planChanges: async (request) => (await this.#open()).planChanges(request),
    onPlanChange: (...consumer) => this.#startFeed(...consumer),
    operateContext: async () => {
      const context = await (await this.#open()).operateContext();
      const { config, pool } = this.#options;
      // The doctor reads the environment, which says nothing of what the app has given instead.
      if (config !== undefined || pool !== undefined) return context;
      return { ...context, examine: () => examineSilently(this.#environment(), context.logger) };
    },
    close: async () => {
      await Promise.all([...this.#feeds].map((feed) => feed.stop()));
      await this.#shared?.close();
    },
  };

  async #open(): Promise<Service> {
    return await this.#share().open();
  }

  /** Reads the configuration on the first request, because a build imports the app without one. */
  #share() {
    if (this.#shared !== undefined) return this.#shared;
    const { environment: _environment, paths: _paths, ...given } = this.#options;
    const config = given.config ?? readConfig(this.#environment());
    const logger = given.logger ?? createLogger(config.logLevel);
    const { maintenance } = this;
    if (maintenance !== (given.maintenance ?? 'background')) {
      const remedy = 'call runMaintenance after webhooks and on a schedule';
      logger.warn(`maintenance is on demand, because this platform freezes processes: ${remedy}`);
    }
    this.#shared = shareService({ ...given, config, logger, maintenance });
    return this.#shared;
  }

  /** How maintenance runs: not in the background of a process that its platform freezes between requests. */
  get maintenance(): MaintenanceMode {
    const { maintenance = 'background' } = this.#options;
    const environment = this.#environment();
    const isFrozen = FREEZES.some((name) => environment[name]);
    return isFrozen && maintenance === 'background' ? 'on-demand' : maintenance;
  }

  #environment(): Environment {
    const { environment = process.env, profile, pool } = this.#options;
    return {
      ...environment,
      ...(profile === false && { PROFILE: 'off' }),
      // The configuration knows nothing of the app's pool, so a missing DATABASE_URL is not an error.
      ...(pool !== undefined && { DATABASE_URL: 'embedded' }),
    };
  }

  #startFeed(name: string, handler: PlanChangeHandler, options?: FeedOptions): Feed {
    checkConsumerName(name);
    const stopping = new AbortController();
    // The database can be unreachable now, and a build imports the app without a configuration.
    const started = retry(() => this.#open(), {
      ...START_RETRIES,
      signal: stopping.signal,
      onRetry: (err) => this.#writeFailure({ err }),
    }).then(
      (service) => (stopping.signal.aborted ? null : service.onPlanChange(name, handler, options)),
      () => null,
    );
    const feed = {
      stop: async () => {
        stopping.abort();
        this.#feeds.delete(feed);
        await (await started)?.stop();
      },
    };
    this.#feeds.add(feed);
    return feed;
  }

  #writeFailure = limitLines((members) => {
    const logger = this.#shared?.options.logger ?? this.#options.logger ?? createLogger('info');
    logger.error(members, 'Instep could not start; the next request tries again');
  });
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

/** The service of a configuration, which all handlers share: one in a process, or one for each of the app's pools. */
function shareService(options: InstepOptions) {
  const { logger: _logger, now: _now, pool, ...identity } = options;
  // A hash, so that no secret is in it. Functions don't count: if loggers differ, the first one is used.
  const key = hash('sha256', JSON.stringify(identity));
  globalThis.instepServices ??= new WeakMap();
  const owner = pool ?? globalThis;
  const services = globalThis.instepServices.get(owner) ?? new Map<string, Promise<Service>>();
  globalThis.instepServices.set(owner, services);
  return {
    options,
    /** Opens it, unless it is open. A failed start is forgotten, so the next call starts again. */
    open(): Promise<Service> {
      const known = services.get(key);
      if (known !== undefined) return known;
      logSettings(options);
      const opened = openService(options);
      services.set(key, opened);
      opened.catch(() => services.get(key) === opened && services.delete(key));
      return opened;
    },
    /** Closes it if it is open. The next call opens it again. */
    async close(): Promise<void> {
      const opened = services.get(key);
      services.delete(key);
      // A failed start left nothing open, and its callers got the error.
      const service = await opened?.catch(() => undefined);
      await service?.close();
    },
  };
}
