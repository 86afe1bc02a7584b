import type { RequestListener } from 'node:http';
import type { Logger } from '../logging.ts';
import { QueueFull } from '../sync/batcher.ts';
import { limitLines } from './line-limiter.ts';
import { unavailable } from './problems.ts';

export type AdmissionOptions = {
  /** Whether an event that comes now would have its turn in time. */
  readonly hasRoom: () => boolean;
  readonly logger: Logger;
  readonly now: () => number;
};

/** Whether an event may come in; if not, it is to come again, and nothing is done for it. */
export type Admit = () => boolean;

export function createAdmission({ hasRoom, logger, now }: AdmissionOptions): Admit {
  const err = new QueueFull('too much is waiting already');
  const write = limitLines({ now, write: (members) => logger.error(members, 'request failed') });
  return () => {
    const isAdmitted = hasRoom();
    if (!isAdmitted) write({ err });
    return isAdmitted;
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
