import { type Environment, readConfig } from '../config/config.ts';
import type { InstepOptions, Service } from '../instep.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { limitLines } from '../runtime/line-limiter.ts';
import { createLogger, type Logger } from '../runtime/logging.ts';
import type { Handler } from '../server/http-message.ts';
import type { IngestWebhook } from '../server/ingest-webhook.ts';
import { notFound, unavailable } from '../server/problems.ts';
import { WEBHOOK_PATH } from '../server/webhook.ts';
import { closeShared, openShared } from './process-services.ts';

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
   * Stops maintenance and disconnects from the database, for all handlers of this process with the same
   * configuration. The next request connects again.
   */
  close(): Promise<void>;
};

/** A service that opens on first use. */
type LazyService = HandlerMethods & {
  /** Answers 503 while the service can't be opened; the log has the reason. */
  readonly handle: Handler;
  /** Whether the path is one of ours. */
  serves(path: string): boolean;
};

export function createLazyService(options: HandlerOptions): LazyService {
  const { paths = {} } = options;
  const routes = new Map([
    [paths.user ?? '/api/user', '/api/user'],
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
      if (path === undefined) return notFound().toResponse();
      let service: Service;
      try {
        const start = resolve();
        service = await withDeadline(openShared(start), start.config.requestDeadlineMs);
      } catch (err) {
        writeFailure({ err });
        return unavailable().toResponse();
      }
      return await service.handle({ ...request, path });
    },
    ingest: async (...received) => (await openShared(resolve())).ingest(...received),
    runMaintenance: async (budgetMs) => (await openShared(resolve())).runMaintenance(budgetMs),
    async close() {
      if (resolved !== undefined) await closeShared(resolved);
    },
  };
}
