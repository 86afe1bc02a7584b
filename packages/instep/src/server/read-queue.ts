import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Connections that send too many requests, and wait in a queue to be read from, one in each iteration of the
 * event loop. In one iteration, Node accepts a single new connection, but reads from each open one that has
 * sent something. If it read from thousands of senders at once, all other clients would wait for seconds.
 */
export class ReadQueue {
  readonly #waiting: { readonly connection: Socket; readonly idleTimeoutMs: number }[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Adds the connection once this request is answered. */
  addAfter(request: IncomingMessage, response: ServerResponse, connection: Socket): void {
    const onClose = () => {
      // Node resumes reading when both are closed.
      if (request.closed && response.closed) this.#add(connection);
    };
    request.once('close', onClose);
    response.once('close', onClose);
  }

  #add(connection: Socket): void {
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
    if (!this.isEmpty) setImmediate(() => this.#readNext());
  }
}
