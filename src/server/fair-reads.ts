import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Makes connections that send too many requests wait for each other. In one iteration of the event loop Node
 * accepts a single new connection, but reads from each open one that has sent something. If thousands of
 * senders were read from at once, all other clients would wait for seconds.
 */
export class FairReads {
  readonly #waiting: { readonly connection: Socket; readonly idleTimeoutMs: number }[] = [];

  /** Whether connections are waiting, so that others must wait behind them. */
  get isCrowded(): boolean {
    return this.#waiting.length > 0;
  }

  /** Makes the connection wait for its next read once this request is answered. */
  waitAfter(request: IncomingMessage, response: ServerResponse, connection: Socket): void {
    const onClose = () => {
      // Node resumes reading when both are closed.
      if (request.closed && response.closed) this.#wait(connection);
    };
    request.once('close', onClose);
    response.once('close', onClose);
  }

  #wait(connection: Socket): void {
    connection.pause();
    this.#waiting.push({ connection, idleTimeoutMs: connection.timeout ?? 0 });
    // The connection is not idle: the server is making it wait.
    connection.setTimeout(0);
    if (this.#waiting.length === 1) setImmediate(() => this.#readNext());
  }

  #readNext(): void {
    const next = this.#waiting.shift();
    next?.connection.setTimeout(next.idleTimeoutMs);
    next?.connection.resume();
    if (this.isCrowded) setImmediate(() => this.#readNext());
  }
}
