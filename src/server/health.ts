import { withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logging.ts';
import { type Answer, jsonAnswer } from './answer.ts';
import { limitLines } from './line-limiter.ts';
import { unavailable } from './problems.ts';

/** `GET /healthz`: the process lives. It asks nobody else. */
export async function healthHandler(): Promise<Answer> {
  return jsonAnswer({ status: 'ok' });
}

export type ReadinessOptions = {
  /** Resolves when requests can be served, and throws why not. */
  readonly checkReady: () => Promise<void>;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

const DEADLINE_MS = 2_000;

/** `GET /readyz`: the database is reachable, its schema is current, and we are not shutting down. */
export function readinessHandler({ checkReady, logger, now }: ReadinessOptions) {
  const write = limitLines({ now, write: (members) => logger.warn(members, 'not ready') });
  return async (): Promise<Answer> => {
    try {
      await withDeadline(checkReady(), DEADLINE_MS);
    } catch (error) {
      write({ err: error });
      throw unavailable();
    }
    return jsonAnswer({ status: 'ready' });
  };
}
