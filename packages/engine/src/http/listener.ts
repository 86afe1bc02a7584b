// A server of node:http that bounds what its clients can take: the public one and the operators' one of `instep serve`,
// and `listen` for apps.

import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import { codeOf, InstepError } from '../runtime/errors.ts';
import { type Logger, limitLines } from '../runtime/logging.ts';
import type { Handler } from './http-message.ts';
import { createNodeListener } from './node-listener.ts';
import { REQUEST_TIMEOUT_MS } from './read-body.ts';

/** The address can't be listened on: it is taken, or belongs to another machine. */
export class ListenFailed extends InstepError {
  readonly code = 'LISTEN_FAILED';
}

/** Whether another port could work. */
const isPortTaken = (cause: unknown) => codeOf(cause) === 'EADDRINUSE';

export type RunningServer = {
  readonly url: string;
  /** Accepts no more requests, answers those in progress, and closes, all within `deadlineMs`. */
  close(deadlineMs: number): Promise<void>;
};

export type ListenerOptions = {
  readonly host: string;
  readonly port: number;
  /** The environment variable that sets the port, for the error message. */
  readonly portVariable: string;
  /** 10,000 by default. */
  readonly maxConnections?: number;
  readonly onRequest: RequestListener;
  readonly logger: Logger;
};

const SERVER_OPTIONS = {
  maxHeaderSize: 16_384,
  headersTimeout: 5_000,
  requestTimeout: REQUEST_TIMEOUT_MS,
  // A proxy that keeps an idle connection longer than its server sends a request on a closed one, and answers 502.
  // Longer than Caddy (120 s), AWS and nginx (60 s).
  keepAliveTimeout: 150_000,
  // With Node's default of 30 s, late requests would live far beyond the limits above.
  connectionsCheckingInterval: 500,
  // Otherwise a second Host header would go unnoticed.
  joinDuplicateHeaders: true,
};

/** Each takes about 10 kB while it is idle. */
const MAX_CONNECTIONS = 10_000;

/** Proxies and browsers wait for each response; only clients that flood a server send many requests before it. */
const MAX_UNANSWERED = 8;

/** The number of connections that can wait to be accepted; the system can allow fewer. */
const BACKLOG = 4_096;

/** Serves HTTP/1.1 at an address, with limits for its clients. @throws ListenFailed */
export async function openListener(options: ListenerOptions): Promise<RunningServer> {
  const { host, port, portVariable, maxConnections = MAX_CONNECTIONS, onRequest, logger } = options;
  const server = createServer(SERVER_OPTIONS, limitUnanswered(onRequest));
  server.maxConnections = maxConnections;
  server.on(
    'checkExpectation',
    limitUnanswered((_, response) => response.writeHead(417).end()),
  );
  const silent = silentConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const reason = isPortTaken(cause)
        ? `is taken: set ${portVariable} to another`
        : `failed: ${cause.message}`;
      reject(new ListenFailed(`listening on ${host}:${port} ${reason}`, { cause }));
    });
    server.listen({ port, host, backlog: BACKLOG }, resolve);
  });
  // For example, no file is left for another connection.
  const warnOfFailure = limitLines((members) => logger.warn(members, 'connection not accepted'));
  server.on('error', (err) => warnOfFailure({ err }));
  const warn = limitLines((members) => logger.warn(members, 'too many connections'));
  server.on('drop', () => warn({ maxConnections }));
  const { address, port: boundPort } = server.address() as AddressInfo;
  return {
    url: urlOf(address, boundPort),
    close(deadlineMs) {
      for (const connection of silent) connection.destroy();
      return close(server, deadlineMs);
    },
  };
}

/** Closes a connection with more than eight unanswered requests. Node still parses all that arrived with them. */
function limitUnanswered(onRequest: RequestListener): RequestListener {
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

/** The connections that have not sent a complete head yet, which Node does not consider idle. */
function silentConnections(server: Server): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  server.on('connection', (connection) => {
    silent.add(connection);
    connection.once('close', () => silent.delete(connection));
  });
  server.on('request', ({ socket }) => silent.delete(socket));
  return silent;
}

async function close(server: Server, deadlineMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection whose last request was answered would wait for another one.
  const closingIdle = setInterval(() => server.closeIdleConnections(), 50);
  const closingAll = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearInterval(closingIdle);
  clearTimeout(closingAll);
}

/** The URL of an address, IPv6 included. */
export function urlOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

export type ListenOptions = Pick<ListenerOptions, 'host' | 'port' | 'logger'> & {
  readonly handle: Handler;
};

/**
 * Serves a handler at an address, with the limits of `instep serve` for connections, headers and time. Port 0
 * picks a free port, which is in the result's `url`. A handler that throws is logged, and its request is
 * answered with 500.
 *
 * @throws ListenFailed when the address is in use, or not one of this machine
 * @example
 * ```ts
 * import { createLogger, listen } from 'instep';
 *
 * const server = await listen({
 *   host: '127.0.0.1',
 *   port: 0,
 *   handle: async () => ({ status: 200, headers: {}, body: 'ok' }),
 *   logger: createLogger('info'),
 * });
 * console.log(await (await fetch(server.url)).text()); // ok
 * await server.close(1_000);
 * ```
 */
export async function listen(options: ListenOptions): Promise<RunningServer> {
  const { host, port, logger, handle } = options;
  const onFailure = limitLines((members) => logger.error(members, 'request failed'));
  return await openListener({
    host,
    port,
    portVariable: 'PORT',
    logger,
    onRequest: createNodeListener(handle, onFailure),
  });
}
