// Whether this process is alive, and whether it can serve requests: for the router's two routes, and until they are
// open.

import { DatabaseUnavailable, DatabaseUnusable } from '../postgres/errors.ts';
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

/**
 * `GET /readyz`: the database is reachable, its schema fits, writes are committed, and no shutdown has
 * begun.
 */
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

type WriteCheckOptions = {
  /** The time of the last commit of an event, by the same clock. */
  lastCommitMs: () => number;
  /** Commits something without an effect. It has a deadline of its own. */
  commit: () => Promise<void>;
  clockMs: () => number;
};

/** After this time without a commit, a test commit is made. */
const IDLE_MS = 2_000;

/** A slow second must not take an instance out of service. */
const GRACE_MS = 5_000;

/** Shorter than a load balancer's timeout. */
const ANSWER_TIMEOUT_MS = 1_500;

const NOT_COMMITTED =
  'writes are not committed: check the disk, and that a standby of synchronous_standby_names is connected';

/**
 * Checks whether writes are committed: one was within the last few seconds, or a test commit succeeds now.
 * For example, a missing synchronous standby blocks every commit, but no read.
 *
 * The returned function rejects with DatabaseUnavailable when no write is committed.
 */
export function createWriteCheck(options: WriteCheckOptions): () => Promise<void> {
  const { lastCommitMs, commit, clockMs } = options;
  let committedAtMs = Number.NEGATIVE_INFINITY;
  let inFlight: Promise<void> | null = null;

  async function tryCommit(): Promise<void> {
    try {
      await commit();
    } catch (error) {
      // The role lacks permission for this check, which says nothing about other writes.
      if (!(error instanceof DatabaseUnusable)) throw error;
    } finally {
      inFlight = null;
    }
    committedAtMs = clockMs();
  }

  return async () => {
    const idleMs = clockMs() - Math.max(committedAtMs, lastCommitMs());
    if (idleMs < IDLE_MS) return;
    inFlight ??= tryCommit();
    // Its failure counts once the grace period is over.
    inFlight.catch(() => undefined);
    if (idleMs <= GRACE_MS) return;
    try {
      await withDeadline(inFlight, ANSWER_TIMEOUT_MS);
    } catch (cause) {
      throw new DatabaseUnavailable(NOT_COMMITTED, { cause });
    }
  };
}
