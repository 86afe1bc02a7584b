// Keeps a client that sends faster than it is answered from delaying the others (listener.ts).

import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

/** Proxies and browsers wait for each response; only clients that flood a server send many requests before it. */
const MAX_UNANSWERED = 8;

/** More than a request without a body, and than most of Stripe's events, and room for 400 requests of a flood. */
const LARGE_BYTES = 16_384;

/** Closes a connection with more than eight unanswered requests. Node still parses all that arrived with them. */
export function limitUnanswered(onRequest: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    if (count > MAX_UNANSWERED) {
      // Also closes the connection. Node would create an error with its stack for each request that is still open.
      request.destroy();
      return;
    }
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    onRequest(request, response);
  };
}

/**
 * Lets a server have a connection only once its first bytes are there, and those that begin with many bytes one after
 * the other, in half of the time. Node parses all requests that have arrived together, up to 1,900 in 64 KiB (15 ms),
 * and reads from every connection before it accepts the next: 300 clients that do this, and connect again, would keep
 * all new connections waiting for 7 s; so it is 0.3 s. Returns the connections that have not sent a complete head yet,
 * which Node does not consider idle.
 */
export function admitInTurn(server: Server): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  const large: Socket[] = [];
  let isAdmitting = false;

  // Bun reads connections in native code, and has no listener to put off.
  if ('bun' in process.versions) return silent;
  const serve = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('request', ({ socket }) => silent.delete(socket));
  server.on('connection', (connection: Socket) => {
    silent.add(connection);
    const end = () => connection.destroy();
    connection.once('close', () => silent.delete(connection));
    // Node measures the time for a head only from when it has the connection.
    connection.setTimeout(server.headersTimeout).once('timeout', end).on('error', end);
    connection.once('readable', () => {
      connection.off('timeout', end).setTimeout(0);
      const bytes: Buffer | null = connection.read();
      // The client has left without a request.
      if (bytes === null) return end();
      connection.unshift(bytes);
      if (bytes.length <= LARGE_BYTES) return admit(connection);
      large.push(connection);
      if (!isAdmitting) admitNext();
    });
  });

  function admit(connection: Socket): void {
    for (const listener of serve) listener.call(server, connection);
    connection.resume();
  }

  function admitNext(): void {
    const connection = large.shift();
    isAdmitting = connection !== undefined;
    if (connection === undefined) return;
    const startedAtMs = performance.now();
    if (!connection.destroyed) admit(connection);
    // Its bytes are parsed before.
    setImmediate(() => setTimeout(admitNext, performance.now() - startedAtMs));
  }

  return silent;
}
