import type { RequestListener } from 'node:http';
import type { Logger } from '../logging.ts';
import { QueueFull } from '../sync/batcher.ts';
import { LineLimit } from './line-limit.ts';
import { unavailable } from './problems.ts';

export type AdmissionOptions = {
  /** Whether an event that comes now would have its turn in time. */
  readonly hasRoom: () => boolean;
  readonly logger: Logger;
  readonly now: () => number;
};

/** Whether an event may come in; if not, it is to come again, and nothing is done for it. */
export type Admit = () => boolean;

/** What is refused because there is too much of it may not fill the disk as well. */
const LINE_INTERVAL_MS = 1_000;

export function createAdmission({ hasRoom, logger, now }: AdmissionOptions): Admit {
  const limit = new LineLimit({ now, intervalMs: LINE_INTERVAL_MS });
  return () => {
    if (hasRoom()) return true;
    const leftOut = limit.next();
    if (leftOut !== null) {
      const err = new QueueFull('too much is waiting already');
      logger.error(leftOut === 0 ? { err } : { err, leftOut }, 'request failed');
    }
    return false;
  };
}

/**
 * Refuses what may not come in before any framework has seen it: whoever sends ten times what we
 * can bear must not take the time of what we can.
 */
export function withAdmission(listener: RequestListener, path: string, admit: Admit) {
  const { status, headers, message } = unavailable();
  const body = JSON.stringify({ error: message });
  const head = { ...headers, 'Content-Type': 'application/json', 'Content-Length': body.length };
  const refuses: RequestListener = (request, response) => {
    if (request.url !== path || request.method !== 'POST' || admit()) listener(request, response);
    else response.writeHead(status, head).end(body);
  };
  return refuses;
}
