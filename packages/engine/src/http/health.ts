// Whether this process is alive, and whether it can serve requests: for the router's two routes, and until they are
// open.

import { withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import { type Logger, limitLines } from '../runtime/logging.ts';
import { type HttpRequest, type HttpResponse, jsonResponse, unavailable } from './http-message.ts';

/** `GET /healthz`: reports that the process is alive, without asking any other system. */
export async function handleHealth(): Promise<HttpResponse> {
  return jsonResponse({ status: 'ok' });
}

/**
 * Handles requests until the process is ready: `/healthz` succeeds, and every other request gets a 503,
 * so that Stripe sends its event again and load balancers choose another instance.
 */
export async function handleWhileStarting({ path }: HttpRequest): Promise<HttpResponse> {
  return path === '/healthz' ? await handleHealth() : unavailable().toResponse(path);
}

type ReadinessOptions = {
  isShuttingDown: () => boolean;
  /** Rejects when requests can't be served. */
  checkDatabase: () => Promise<void>;
  logger: Logger;
};

const DEADLINE_MS = 2_000;
const VALID_MS = 1_000;

class ShuttingDown extends InstepError {
  readonly code = 'SHUTTING_DOWN';
}

/** `GET /readyz`: the database is reachable and accepts writes, its schema fits, and no shutdown has begun. */
export class ReadinessEndpoint {
  #options: ReadinessOptions;
  #write: (members: object) => void;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #checked = Promise.resolve();

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#write = limitLines((members) => options.logger.warn(members, 'not ready'));
  }

  async handle(): Promise<HttpResponse> {
    try {
      if (this.#options.isShuttingDown()) throw new ShuttingDown('shutting down');
      await this.#checkOncePerSecond();
    } catch (error) {
      this.#write({ err: error });
      throw unavailable();
    }
    return jsonResponse({ status: 'ready' });
  }

  /** Anyone can send any number of requests, so the database is asked only once a second. */
  #checkOncePerSecond(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs >= VALID_MS) {
      this.#checkedAtMs = nowMs;
      this.#checked = withDeadline(this.#options.checkDatabase(), DEADLINE_MS);
    }
    return this.#checked;
  }
}
