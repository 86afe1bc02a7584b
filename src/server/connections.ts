import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

export type ConnectionsOptions = {
  readonly maxConnections: number;
  /** Is notified whenever one connection is ended for another. */
  readonly onCrowded: () => void;
};

export type Connections = {
  /** Ends those that have not sent a complete head yet. Node does not consider them idle. */
  endSilent(): void;
};

/**
 * Limits the number of open connections. A new connection takes the place of the one that has
 * waited longest for its client, so that opening connections can't shut out those who use them. A
 * request that has arrived completely is always answered.
 */
export function limitConnections(server: Server, options: ConnectionsOptions): Connections {
  const { maxConnections, onCrowded } = options;
  /** The request that each connection is busy with, if any. The longest unused comes first. */
  const requests = new Map<Socket, IncomingMessage | null>();

  function use(connection: Socket, request: IncomingMessage | null): void {
    if (!requests.delete(connection)) return;
    requests.set(connection, request);
  }

  function longestWaiting(): Socket | undefined {
    for (const [connection, request] of requests) {
      if (request?.complete !== true) return connection;
    }
    return undefined;
  }

  server.on('connection', (connection: Socket) => {
    requests.set(connection, null);
    connection.once('close', () => requests.delete(connection));
    const leaving = requests.size > maxConnections ? longestWaiting() : undefined;
    if (leaving === undefined) return;
    requests.delete(leaving);
    leaving.destroy();
    onCrowded();
  });

  server.on('request', (request, response) => {
    use(request.socket, request);
    response.once('close', () => use(request.socket, null));
  });

  return {
    endSilent() {
      for (const connection of requests.keys()) {
        if (connection.bytesRead === 0) connection.destroy();
      }
    },
  };
}
