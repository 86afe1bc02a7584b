import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../process/free-port.ts';
import { DATABASE_PASSWORD } from '../secrets/test-secrets.ts';

/**
 * What the proxy does to open and new connections:
 *
 * - `forward`: forwards them to the server
 * - `refuse`: stops listening, and closes open ones
 * - `reset`: resets them
 * - `swallow`: keeps them open, and drops all data, permanently
 * - `mute`: forwards requests, and drops responses, permanently
 * - `slow`: delays each chunk
 */
export type Behavior = 'forward' | 'refuse' | 'reset' | 'swallow' | 'mute' | 'slow';

const SLOW_MS = 100;

type ProxyOptions = {
  /** The delay of each chunk in the mode `slow`. */
  readonly slowMs?: number;
};

export type TcpProxy = {
  /** The URL of the database, through the proxy. */
  readonly url: URL;
  become(behavior: Behavior): Promise<void>;
  /** Leads to another server from now on, and closes what leads to the former one, as HAProxy does after a failover. */
  leadTo(databaseUrl: URL): void;
  close(): Promise<void>;
};

/** A proxy in front of the PostgreSQL at this URL: a port, or a folder with a socket. */
export async function startProxy(
  databaseUrl: URL,
  { slowMs = SLOW_MS }: ProxyOptions = {},
): Promise<TcpProxy> {
  let upstream = addressOf(databaseUrl);
  const pairs = new Set<Pair>();
  let behavior: Behavior = 'forward';

  const server = createServer((client) => {
    if (behavior === 'reset') {
      client.resetAndDestroy();
      return;
    }
    const pair = new Pair(client, upstream, slowMs);
    pairs.add(pair);
    client.on('close', () => pairs.delete(pair));
    pair.become(behavior);
  });
  // Its port must still be free when it listens again.
  const port = await freePort();
  await listen(server, port);

  async function become(next: Behavior): Promise<void> {
    behavior = next;
    if (next === 'refuse') {
      const closed = once(server, 'close');
      server.close();
      for (const pair of pairs) pair.destroy();
      await closed;
    } else if (!server.listening) await listen(server, port);
    for (const pair of pairs) pair.become(next);
  }

  function leadTo(next: URL): void {
    upstream = addressOf(next);
    for (const pair of pairs) pair.destroy();
  }

  const url = new URL(`postgres://127.0.0.1:${port}${databaseUrl.pathname}`);
  url.username = databaseUrl.searchParams.get('user') ?? databaseUrl.username;
  url.password = DATABASE_PASSWORD;
  return { url, become, leadTo, close: () => become('refuse') };
}

/** A client's connection, and the matching one to the server. */
class Pair {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #slowMs: number;
  #isDeaf = false;
  #isMute = false;
  #isSlow = false;

  constructor(client: Socket, upstream: NetConnectOpts, slowMs: number) {
    this.#slowMs = slowMs;
    this.#client = client;
    this.#upstream = connect(upstream);
    for (const socket of [client, this.#upstream]) socket.on('error', () => this.destroy());
    this.#carry(client, this.#upstream, () => !this.#isDeaf);
    this.#carry(this.#upstream, client, () => !this.#isMute);
  }

  become(behavior: Behavior): void {
    if (behavior === 'reset') this.#client.resetAndDestroy();
    this.#isDeaf ||= behavior === 'swallow';
    this.#isMute ||= behavior === 'swallow' || behavior === 'mute';
    this.#isSlow = behavior === 'slow';
  }

  destroy(): void {
    this.#client.destroy();
    this.#upstream.destroy();
  }

  /** Forwards chunk by chunk. Dropped data is still read, so that the end of the connection is noticed. */
  #carry(from: Socket, to: Socket, getsThrough: () => boolean): void {
    let last = Promise.resolve();
    from.on('data', (piece) => {
      last = last.then(async () => {
        if (this.#isSlow) await sleep(this.#slowMs);
        if (getsThrough() && to.writable) to.write(piece);
      });
    });
    from.on('close', () => {
      last = last.then(() => {
        to.end();
      });
    });
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

function addressOf({ hostname, port, searchParams }: URL): NetConnectOpts {
  const folder = searchParams.get('host');
  if (folder === null) return { host: hostname, port: Number(port) };
  return { path: `${folder}/.s.PGSQL.${searchParams.get('port') ?? 5432}` };
}
