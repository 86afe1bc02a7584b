import type { Context } from 'hono';
import { withDeadline } from '../deadline.ts';
import type { Logger } from '../logging.ts';
import { unavailable } from './problems.ts';

/** `GET /healthz`: the process lives. It asks nobody else. */
export function healthHandler(context: Context): Response {
  return context.json({ status: 'ok' });
}

export type ReadinessOptions = {
  /** Resolves when requests can be served, and throws why not. */
  readonly checkReady: () => Promise<void>;
  readonly logger: Logger;
};

const DEADLINE_MS = 2_000;

/** `GET /readyz`: the database is reachable, its schema is current, and we are not shutting down. */
export function readinessHandler({ checkReady, logger }: ReadinessOptions) {
  return async (context: Context): Promise<Response> => {
    try {
      await withDeadline(checkReady(), DEADLINE_MS);
    } catch (error) {
      logger.warn({ err: error }, 'not ready');
      throw unavailable();
    }
    return context.json({ status: 'ready' });
  };
}
