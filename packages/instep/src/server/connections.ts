// Decides which connection has to go when a listener has too many.

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

type ConnectionsOptions = {
  maxConnections: number;
  /** Called whenever a connection is closed to make room for another. */
  onCrowded: () => void;
};

type Connections = {
  /** Closes connections that have not sent a complete request head yet. Node does not consider them idle. */
  endSilent(): void;
};

type ConnectionUse = {
  /** How many requests have arrived on the connection. */
  requests: number;
  /** The last of them; `null` once it is answered. */
  request: IncomingMessage | null;
};

/**
 * Limits the number of open connections. A new connection replaces one that is only waiting for its client,
 * so that clients that open connections can't shut out those that use them. A request that has arrived
 * completely is always answered.
 */
export function limitConnections(server: Server, options: ConnectionsOptions): Connections {
  const { maxConnections, onCrowded } = options;
  /** The least recently used connection comes first. */
  const uses = new Map<Socket, ConnectionUse>();

  function moveLast(connection: Socket, use: ConnectionUse): void {
    if (uses.delete(connection)) uses.set(connection, use);
  }

  /**
   * Connections with an unfinished request get half of the places, so that they and idle connections can't
   * displace each other. Idle connections that were used more than once, such as those of load balancers and
   * Stripe, stay longest.
   */
  function leastUseful(): Socket | undefined {
    const unfinished: Socket[] = [];
    const usedOnce: Socket[] = [];
    const usedOften: Socket[] = [];
    for (const [connection, { requests, request }] of uses) {
      const isIdle = requests > 0 && request === null;
      if (isIdle) (requests > 1 ? usedOften : usedOnce).push(connection);
      else if (request?.complete !== true) unfinished.push(connection);
    }
    if (unfinished.length > maxConnections / 2) return unfinished[0];
    return usedOnce[0] ?? usedOften[0] ?? unfinished[0];
  }

  server.on('connection', (connection: Socket) => {
    uses.set(connection, { requests: 0, request: null });
    connection.once('close', () => uses.delete(connection));
    const leaving = uses.size > maxConnections ? leastUseful() : undefined;
    if (leaving === undefined) return;
    uses.delete(leaving);
    leaving.destroy();
    onCrowded();
  });

  server.on('request', (request, response) => {
    const { socket } = request;
    const use = uses.get(socket);
    // A closed connection can still deliver data that had arrived before.
    if (use === undefined) return;
    use.requests += 1;
    use.request = request;
    moveLast(socket, use);
    response.once('close', () => {
      if (use.request !== request) return;
      use.request = null;
      moveLast(socket, use);
    });
  });

  return {
    endSilent() {
      for (const [connection, { requests }] of uses) if (requests === 0) connection.destroy();
    },
  };
}
