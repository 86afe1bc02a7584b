import { withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import { limitLines } from '../runtime/line-limiter.ts';
import type { Logger } from '../runtime/logging.ts';
import {
  type Endpoint,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
} from './http-message.ts';
import { unavailable } from './problems.ts';

/** `GET /healthz`: reports that the process is alive, without asking any other system. */
export async function healthHandler(): Promise<HttpResponse> {
  return jsonResponse({ status: 'ok' });
}

/**
 * Handles requests until the process is ready: `/healthz` succeeds, and every other request gets a 503,
 * so that Stripe sends its event again and load balancers choose another instance.
 */
export async function handleWhileStarting({ path }: HttpRequest): Promise<HttpResponse> {
  return path === '/healthz' ? await healthHandler() : unavailable().toResponse();
}

type ReadinessOptions = {
  readonly isShuttingDown: () => boolean;
  /** Rejects when requests can't be served. */
  readonly checkDatabase: () => Promise<void>;
  readonly logger: Logger;
};

const DEADLINE_MS = 2_000;
const VALID_MS = 1_000;

class ShuttingDown extends InstepError {
  readonly code = 'SHUTTING_DOWN';
}

/**
 * `GET /readyz`: the database is reachable, its schema fits, writes are committed, and no shutdown has
 * begun.
 */
export function readinessHandler(options: ReadinessOptions): Endpoint {
  const { isShuttingDown, checkDatabase, logger } = options;
  const write = limitLines((members) => logger.warn(members, 'not ready'));
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let checked = Promise.resolve();

  /** Anyone can send any number of requests, so the database is asked only once a second. */
  function checkOncePerSecond(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - checkedAtMs >= VALID_MS) {
      checkedAtMs = nowMs;
      checked = withDeadline(checkDatabase(), DEADLINE_MS);
    }
    return checked;
  }

  return async () => {
    try {
      if (isShuttingDown()) throw new ShuttingDown('shutting down');
      await checkOncePerSecond();
    } catch (error) {
      write({ err: error });
      throw unavailable();
    }
    return jsonResponse({ status: 'ready' });
  };
}
