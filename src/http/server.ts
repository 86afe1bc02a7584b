import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { InstepError } from '../errors.ts';
import type { Logger } from '../logging.ts';
import { type Admit, withAdmission } from './admission.ts';
import { toResponse } from './app.ts';
import type { Route } from './call.ts';
import { limitConnections } from './connections.ts';
import { limitLines } from './line-limiter.ts';
import { connectionsWithin, readOpenFilesLimit } from './open-files.ts';
import { hostAmbiguous } from './problems.ts';
import { withShortWay } from './short-way.ts';
import { WEBHOOK_PATH } from './webhook.ts';

/** The address cannot be listened on: taken, or not ours. */
export class ListenFailed extends InstepError {
  readonly code = 'LISTEN_FAILED';
  /** Whether another port might do. */
  readonly isTaken: boolean;

  constructor(message: string, isTaken: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isTaken = isTaken;
  }
}

export type RunningServer = {
  readonly url: string;
  /** Takes no more requests, answers those under way, and closes; all within `deadlineMs`. */
  close(deadlineMs: number): Promise<void>;
};

export type ListenOptions = {
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** What is answered without `fetch`, unless it is odd. */
  readonly routes: readonly Route[];
  readonly host: string;
  readonly port: number;
  /** Asked for each event before anything else. */
  readonly admit: Admit;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

const LIMITS = {
  maxHeaderSize: 16_384,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  // Node looks for late requests every 30 s, unless told otherwise.
  connectionsCheckingInterval: 500,
};

/** So many connections may come at once; the system may allow fewer. */
const BACKLOG = 4_096;

/** Serves HTTP/1.1. @throws ListenFailed */
export async function listen(options: ListenOptions): Promise<RunningServer> {
  const { fetch, routes, host, port, admit, logger, now } = options;
  const answer = getRequestListener(
    (request) => (namesTwoHosts(request) ? toResponse(hostAmbiguous().toAnswer()) : fetch(request)),
    // HTTP/1.0 needs to name no host, and some health checks still speak it.
    { hostname: host, overrideGlobalObjects: true },
  );
  const shortly = withShortWay(answer, routes);
  const server = createServer(LIMITS, withAdmission(shortly, WEBHOOK_PATH, admit));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const isTaken = cause.code === 'EADDRINUSE';
      const reason = isTaken ? 'is taken: set PORT to another' : `failed: ${cause.message}`;
      reject(new ListenFailed(`listening on ${host}:${port} ${reason}`, isTaken, { cause }));
    });
    server.listen({ port, host, backlog: BACKLOG }, resolve);
  });
  const maxConnections = connectionsWithin(readOpenFilesLimit());
  const crowded = limitLines({
    now,
    write: (members) => logger.warn(members, 'too many connections'),
  });
  const onCrowded = () => crowded({ maxConnections });
  const connections = limitConnections(server, { maxConnections, onCrowded });
  const { address, port: boundPort } = server.address() as AddressInfo;
  return {
    url: urlOf(address, boundPort),
    close(deadlineMs) {
      connections.endSilent();
      return close(server, deadlineMs);
    },
  };
}

/** Proxies differ in which one they take; HTTP/1.1 asks servers to take neither (RFC 9112, 3.2). */
function namesTwoHosts({ headers }: Request): boolean {
  return headers.get('host')?.includes(',') === true;
}

async function close(server: Server, deadlineMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that answered its last request waits for another one, which must not come.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const late = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearInterval(idle);
  clearTimeout(late);
}

/** The server's own URL; the address may be one of IPv6. */
export function urlOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
