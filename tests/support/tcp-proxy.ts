import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What becomes of connections to the proxy, those that are open and those that come:
 *
 * - `forward`: they reach the server behind it
 * - `refuse`: nobody listens, and open ones end
 * - `reset`: they are reset
 * - `swallow`: they stay open, and nothing comes through any more, for good
 */
export type Behaviour = 'forward' | 'refuse' | 'reset' | 'swallow';

export type TcpProxy = {
  /** The URL of the database, through the proxy. */
  readonly url: URL;
  become(behaviour: Behaviour): Promise<void>;
  close(): Promise<void>;
};

/** Stands between a client and the PostgreSQL of this URL, which is a folder with a socket in it. */
export async function startProxy(databaseUrl: URL): Promise<TcpProxy> {
  const upstreamPath = socketPath(databaseUrl);
  const pairs = new Set<Pair>();
  let behaviour: Behaviour = 'forward';

  const server = createServer((client) => {
    if (behaviour === 'reset') {
      client.resetAndDestroy();
      return;
    }
    const pair = new Pair(client, upstreamPath);
    pairs.add(pair);
    client.on('close', () => pairs.delete(pair));
    if (behaviour === 'swallow') pair.swallow();
  });
  const port = await listen(server, 0);

  async function become(next: Behaviour): Promise<void> {
    behaviour = next;
    if (next === 'refuse') {
      const closed = once(server, 'close');
      server.close();
      for (const pair of pairs) pair.destroy();
      await closed;
    } else if (!server.listening) await listen(server, port);
    if (next === 'reset') for (const pair of pairs) pair.reset();
    if (next === 'swallow') for (const pair of pairs) pair.swallow();
  }

  const url = new URL(`postgres://127.0.0.1:${port}${databaseUrl.pathname}`);
  url.username = databaseUrl.searchParams.get('user') ?? '';
  return { url, become, close: () => become('refuse') };
}

/** A connection of the client's, and the one to the server that belongs to it. */
class Pair {
  readonly #client: Socket;
  readonly #upstream: Socket;

  constructor(client: Socket, upstreamPath: string) {
    this.#client = client;
    this.#upstream = connect(upstreamPath);
    for (const socket of [client, this.#upstream]) socket.on('error', () => this.destroy());
    client.pipe(this.#upstream).pipe(client);
    client.on('close', () => this.#upstream.destroy());
    this.#upstream.on('close', () => client.destroy());
  }

  destroy(): void {
    this.#client.destroy();
    this.#upstream.destroy();
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#upstream.destroy();
  }

  swallow(): void {
    for (const socket of [this.#client, this.#upstream]) socket.unpipe();
    // Read and thrown away, so that the client's end is still noticed.
    this.#client.resume();
    this.#upstream.resume();
  }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function socketPath({ searchParams }: URL): string {
  return `${searchParams.get('host')}/.s.PGSQL.${searchParams.get('port') ?? 5432}`;
}
