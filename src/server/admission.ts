import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { QueueFull } from '../runtime/batcher.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { limitLines } from './line-limiter.ts';
import { unavailable } from './problems.ts';
import type { Turns } from './turns.ts';

export type AdmissionOptions = {
  /** Whether an event that comes now would have its turn in time. */
  readonly hasRoom: () => boolean;
  readonly instrumentation?: Instrumentation;
  readonly logger: Logger;
  readonly now: () => number;
};

/** Whether an event may come in; if not, it is to come again, and nothing is done for it. */
export type Admit = () => boolean;

export function createAdmission(options: AdmissionOptions): Admit {
  const { hasRoom, instrumentation = NO_INSTRUMENTATION, logger, now } = options;
  const err = new QueueFull('too much is waiting already');
  const write = limitLines({ now, write: (members) => logger.error(members, 'request failed') });
  return () => {
    const isAdmitted = hasRoom();
    if (isAdmitted) return true;
    instrumentation.eventFailed(err);
    write({ err });
    return false;
  };
}

export type RefusalOptions = {
  /** Of what may have to be refused. */
  readonly path: string;
  readonly admit: Admit;
  readonly turns: Turns;
  readonly instrumentation?: Instrumentation | undefined;
};

/**
 * Refuses what may not come in before any framework has seen it: whoever sends ten times what we
 * can bear must not take the time of what we can. Who was refused is not heard again before others.
 */
export function withAdmission(
  listener: RequestListener,
  { path, admit, turns, instrumentation = NO_INSTRUMENTATION }: RefusalOptions,
): RequestListener {
  const { status, headers, body } = unavailable().toAnswer();
  const head = { 'Content-Length': Buffer.byteLength(body), ...headers };

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const isAdmitted = admit();
    if (!isAdmitted || turns.areTaken) turns.takeAfter(request, response);
    if (isAdmitted) {
      listener(request, response);
    } else {
      instrumentation.requestAnswered(path, status, 0);
      response.writeHead(status, head).end(body);
    }
  }

  return (request, response) => {
    if (request.url === path && request.method === 'POST') receive(request, response);
    else listener(request, response);
  };
}
