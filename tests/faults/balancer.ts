import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

type Balancer = {
  readonly url: string;
  /** Adds a server. Resolves when it is ready and gets requests. */
  add(server: string): Promise<void>;
  remove(server: string): void;
  close(): Promise<void>;
};

const ASK_INTERVAL_MS = 50;

/**
 * Sends each request to one of the servers that were ready at the last check. It never retries, so
 * clients see every failure behind it.
 */
export async function startBalancer(): Promise<Balancer> {
  const servers = new Map<string, boolean>();
  let turn = 0;

  function forward(incoming: IncomingMessage, answer: ServerResponse): void {
    const ready = [...servers].filter(([, isReady]) => isReady).map(([server]) => server);
    turn += 1;
    const server = ready[turn % ready.length];
    if (server === undefined) {
      answer.writeHead(502).end('no server is ready');
      return;
    }
    const { method, url, headers } = incoming;
    const outgoing = request(new URL(url ?? '/', server), { method, headers, agent: false });
    outgoing.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    outgoing.on('error', (error) => answer.writeHead(502).end(error.message));
    incoming.pipe(outgoing);
  }

  async function ask(server: string): Promise<void> {
    const answer = await fetch(`${server}/readyz`).catch(() => null);
    if (servers.has(server)) servers.set(server, answer?.status === 200);
  }

  const listener = createServer(forward).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const asking = setInterval(() => {
    for (const server of servers.keys()) void ask(server);
  }, ASK_INTERVAL_MS);

  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    async add(server) {
      servers.set(server, false);
      while (servers.get(server) === false) await sleep(ASK_INTERVAL_MS);
    },
    remove(server) {
      servers.delete(server);
    },
    async close() {
      clearInterval(asking);
      listener.close();
      listener.closeAllConnections();
      await once(listener, 'close');
    },
  };
}
