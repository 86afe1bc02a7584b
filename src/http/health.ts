import { withDeadline } from '../deadline.ts';
import type { Logger } from '../logging.ts';
import { jsonResponse } from './json-response.ts';
import { unavailable } from './problems.ts';

/** `GET /healthz`: the process lives. It asks nobody else. */
export function healthHandler(): Response {
  return jsonResponse({ status: 'ok' });
}

export type ReadinessOptions = {
  /** Resolves when requests can be served, and throws why not. */
  readonly checkReady: () => Promise<void>;
  readonly logger: Logger;
};

const DEADLINE_MS = 2_000;

/** `GET /readyz`: the database is reachable, its schema is current, and we are not shutting down. */
export function readinessHandler({ checkReady, logger }: ReadinessOptions) {
  return async (): Promise<Response> => {
    try {
      await withDeadline(checkReady(), DEADLINE_MS);
    } catch (error) {
      logger.warn({ err: error }, 'not ready');
      throw unavailable();
    }
    return jsonResponse({ status: 'ready' });
  };
}
