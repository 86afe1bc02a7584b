// Keeps a client that sends faster than it is answered from delaying the others. listener.ts limits each connection;
// node-listener.ts queues those that it has refused.

import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../runtime/logging.ts';

/** The most that the parser gets with the end of a body. */
const PIECE_BYTES = 256;

/** No head is shorter: `GET / HTTP/1.1` and an empty line. */
const MIN_HEAD_BYTES = 16;

const LF = 10;
const CR = 13;

const readers = new WeakMap<Socket, Reader>();

/**
 * Limits each connection of a server with `CountedResponse` to one unanswered request, or the few that fit into
 * 256 bytes behind a body, once a client has sent a request behind an unanswered one. Node alone parses all requests
 * that have arrived together, up to 3,600 in 64 KiB, before it does anything else, so that a few hundred connections
 * keep all others waiting for seconds. Here, whatever follows an unanswered request stays in the buffers of the
 * connection and the system.
 *
 * Until then, Node passes on the bytes in native code, because doing it here takes a tenth of an event's time. So only
 * the first client that does this can have all that it sent together answered at once.
 *
 * Nothing is limited where Node hides its parser, which is not part of its API.
 */
export function limitPipelining(server: Server, logger: Pick<Logger, 'warn'>): void {
  // Bun reads connections in native code, where nothing can be held back.
  if ('bun' in process.versions) return;
  /** Connections whose next request has arrived. */
  const queue = new ReadQueue();
  const unlimited = new Set<Reader>();
  let isLimited = false;
  let hasParsers = true;
  function limitAll(): void {
    isLimited = true;
    for (const reader of unlimited) reader.limit();
    unlimited.clear();
  }
  server.on('connection', (connection: Socket) => {
    if (connection.listenerCount('data') !== 1) {
      if (hasParsers) logger.warn('requests that a client sends together are not limited');
      hasParsers = false;
      return;
    }
    const reader = new Reader(connection, queue, limitAll);
    readers.set(connection, reader);
    if (isLimited) return reader.limit();
    unlimited.add(reader);
    connection.once('close', () => unlimited.delete(reader));
  });
}

/** Node creates one for each request that it has parsed, including those that it refuses itself. */
export class CountedResponse extends ServerResponse {
  constructor(...args: ConstructorParameters<typeof ServerResponse<IncomingMessage>>) {
    super(...args);
    const [request] = args;
    readers.get(request.socket)?.onRequest(request, this);
  }
}

/** Passes on a connection's bytes to its parser, once it is limited. */
class Reader {
  #connection: Socket;
  #queue: ReadQueue;
  #onPipelined: () => void;
  #parse: ((bytes: Uint8Array) => void) | null = null;
  #unanswered = 0;
  /** The request that arrived last. */
  #newest: { request: IncomingMessage; response: ServerResponse } | null = null;
  /** The bytes of the newest request's body that the parser has not got yet; up to a piece less. */
  #bodyBytes = 0;
  #isHeld = false;

  constructor(connection: Socket, queue: ReadQueue, onPipelined: () => void) {
    this.#connection = connection;
    this.#queue = queue;
    this.#onPipelined = onPipelined;
  }

  limit(): void {
    const connection = this.#connection;
    const [parse] = connection.listeners('data');
    // Its parser has refused a request, or the connection has become a tunnel.
    if (parse === undefined) return;
    connection.removeListener('data', parse as () => void);
    this.#parse = parse as (bytes: Uint8Array) => void;
    if (this.#newest?.response.closed === false) this.#count(this.#newest.response);
    connection.on('data', (bytes: Buffer) => this.read(bytes));
  }

  read(bytes: Buffer): void {
    const connection = this.#connection;
    let start = 0;
    while (start < bytes.length && !connection.destroyed) {
      // Node pauses a connection whose client does not read its responses.
      if (this.#mustWait() || connection.isPaused()) {
        this.#isHeld = this.#mustWait();
        connection.pause();
        connection.unshift(bytes.subarray(start));
        return;
      }
      const end =
        this.#newest?.request.complete === false
          ? start + Math.max(this.#bodyBytes, PIECE_BYTES)
          : headEnd(bytes, start);
      const piece = bytes.subarray(start, end);
      start += piece.length;
      this.#bodyBytes -= piece.length;
      this.#parse?.(piece);
    }
  }

  onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (this.#parse === null && this.#newest?.response.closed === false) this.#onPipelined();
    this.#newest = { request, response };
    if (this.#parse === null) return;
    this.#bodyBytes = Number(request.headers['content-length'] ?? 0);
    this.#count(response);
  }

  #count(response: ServerResponse): void {
    this.#unanswered += 1;
    response.once('close', () => {
      this.#unanswered -= 1;
      if (!this.#isHeld || this.#mustWait()) return;
      this.#isHeld = false;
      this.#queue.add(this.#connection);
    });
  }

  /** Only a request that is still arriving needs more bytes before it can be answered. */
  #mustWait(): boolean {
    return (
      this.#unanswered > 1 || (this.#unanswered === 1 && this.#newest?.request.complete === true)
    );
  }
}

/**
 * Connections that wait to be read from, one in each iteration of the event loop. In one iteration, Node accepts a
 * single new connection, but reads from each open one that has sent something. If it read from thousands of senders
 * at once, all other clients would wait for seconds.
 */
export class ReadQueue {
  #waiting: { connection: Socket; idleTimeoutMs: number }[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(connection: Socket): void {
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

/** Behind the first empty line, which ends the head of a request; behind all bytes if there is none. */
function headEnd(bytes: Buffer, start: number): number {
  const earliest = start + MIN_HEAD_BYTES - 2;
  for (let at = bytes.indexOf(LF, earliest); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1] === CR ? at + 2 : at + 1;
    if (bytes[next] === LF) return next + 1;
  }
  return bytes.length;
}
