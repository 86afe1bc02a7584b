import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

export type ConnectionsOptions = {
  readonly maxConnections: number;
  /** Called whenever one had to make room for another. */
  readonly onCrowded: () => void;
};

export type Connections = {
  /** Ends those that have sent no whole head of a request yet. Node does not take them for idle. */
  endSilent(): void;
};

/** What came on a connection, and among which others it was put last. */
type Visit = { requests: number; last: IncomingMessage | null; among: Set<Socket> };

/**
 * Holds so many connections at most. Whoever comes when there are as many is taken, and one that
 * only waits for its sender is ended for it: those that open connections cannot shut out those that
 * use them. A request that came whole is always answered.
 */
export function limitConnections(server: Server, options: ConnectionsOptions): Connections {
  const { maxConnections, onCrowded } = options;
  const visits = new Map<Socket, Visit>();
  /** Whose request has not come whole, or had not when we looked; oldest first. */
  const unfinished = new Set<Socket>();
  /** Those that were answered and may ask again, oldest first; once answered, and more often. */
  const idleOnce = new Set<Socket>();
  const idleAgain = new Set<Socket>();

  function putLast(connection: Socket, visit: Visit, among: Set<Socket>): void {
    visit.among.delete(connection);
    visit.among = among;
    among.add(connection);
  }

  function forget(connection: Socket): void {
    visits.get(connection)?.among.delete(connection);
    visits.delete(connection);
  }

  function oldestUnfinished(): Socket | undefined {
    for (const connection of unfinished) {
      if (visits.get(connection)?.last?.complete !== true) return connection;
      unfinished.delete(connection);
    }
    return undefined;
  }

  /**
   * Silent ones get half of the room at most, so that they drive out no idle ones, nor these them.
   * Of the idle ones those stay that have come again: balancers, and Stripe.
   */
  function whoMustLeave(): Socket | undefined {
    const silent = oldestUnfinished();
    if (unfinished.size > maxConnections / 2) return silent;
    const [once] = idleOnce;
    const [again] = idleAgain;
    return once ?? again ?? silent;
  }

  server.on('connection', (connection: Socket) => {
    visits.set(connection, { requests: 0, last: null, among: unfinished });
    unfinished.add(connection);
    connection.once('close', () => forget(connection));
    const leaving = visits.size > maxConnections ? whoMustLeave() : undefined;
    if (leaving === undefined) return;
    forget(leaving);
    leaving.destroy();
    onCrowded();
  });

  server.on('request', (request, response) => {
    const { socket } = request;
    const visit = visits.get(socket);
    // One that was ended may still be heard to the end of what had come.
    if (visit === undefined) return;
    visit.requests += 1;
    visit.last = request;
    putLast(socket, visit, unfinished);
    response.once('close', () => {
      if (visit.last !== request || !visits.has(socket)) return;
      putLast(socket, visit, visit.requests === 1 ? idleOnce : idleAgain);
    });
  });

  return {
    endSilent() {
      for (const [connection, { last }] of visits) if (last === null) connection.destroy();
    },
  };
}
