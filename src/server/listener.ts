import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { InstepError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logging.ts';
import { limitConnections } from './connections.ts';
import { limitLines } from './line-limiter.ts';

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

export type ListenerOptions = {
  readonly host: string;
  readonly port: number;
  /** The variable that the port is from, for whoever has to choose another. */
  readonly portVariable: string;
  readonly maxConnections: number;
  readonly answer: RequestListener;
  /** Hears of each connection. */
  readonly onConnection?: () => void;
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

/** Serves HTTP/1.1 at an address, with limits for whoever comes there. @throws ListenFailed */
export async function openListener(options: ListenerOptions): Promise<RunningServer> {
  const { host, port, portVariable, maxConnections, answer, onConnection, logger, now } = options;
  const server = createServer(LIMITS, answer);
  if (onConnection !== undefined) server.on('connection', onConnection);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const isTaken = cause.code === 'EADDRINUSE';
      const reason = isTaken
        ? `is taken: set ${portVariable} to another`
        : `failed: ${cause.message}`;
      reject(new ListenFailed(`listening on ${host}:${port} ${reason}`, isTaken, { cause }));
    });
    server.listen({ port, host, backlog: BACKLOG }, resolve);
  });
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
