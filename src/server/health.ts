import { withDeadline } from '../runtime/deadline.ts';
import { limitLines } from '../runtime/line-limiter.ts';
import type { Logger } from '../runtime/logging.ts';
import { type Handler, type HttpResponse, jsonResponse } from './http-message.ts';
import { unavailable } from './problems.ts';

/** `GET /healthz`: the process is alive. It asks no other system. */
export async function healthHandler(): Promise<HttpResponse> {
  return jsonResponse({ status: 'ok' });
}

export type ReadinessOptions = {
  /** Resolves when requests can be served, and rejects with the reason when not. */
  readonly checkReady: () => Promise<void>;
  readonly logger: Logger;
};

const DEADLINE_MS = 2_000;

/** `GET /readyz`: the database is reachable, its schema is current, and no shutdown has begun. */
export function readinessHandler({ checkReady, logger }: ReadinessOptions): Handler {
  const write = limitLines((members) => logger.warn(members, 'not ready'));
  return async () => {
    try {
      await withDeadline(checkReady(), DEADLINE_MS);
    } catch (error) {
      write({ err: error });
      throw unavailable();
    }
    return jsonResponse({ status: 'ready' });
  };
}
