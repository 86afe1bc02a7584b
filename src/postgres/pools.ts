import { Socket } from 'node:net';
import pg from 'pg';
import { outsideSpans } from '../runtime/tracing.ts';
import { DatabaseUnavailable, databaseError } from './errors.ts';

export type PoolsOptions = {
  /** One for each server; which of them is the primary may change at any time. */
  readonly connections: readonly pg.ClientConfig[];
  /** What all of them have in common. */
  readonly pool: pg.PoolConfig;
  readonly onConnectionError: (error: Error) => void;
};

/** How many connections there are, how many of them are idle, and how many wait for one. */
export type PoolUse = {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
};

/** How long connecting may take, all servers together: so long, or a little longer for several. */
const CONNECT_TIMEOUT_MS = 2_000;
const SEVERAL_CONNECT_TIMEOUT_MS = 3_000;

/**
 * A pool of connections for each server, of which the one that last could write is asked first. A
 * connection is handed out only if its server took writes when it was made.
 */
export class Pools {
  readonly #options: PoolsOptions;
  /** How long each server may take to connect, and then to say whether it can write. */
  readonly #timeoutMs: number;
  readonly #pools: readonly pg.Pool[];
  readonly #sockets = new Set<Socket>();
  /** The connections that nobody has used yet, nor looked whether they can write. */
  readonly #fresh = new WeakSet<pg.ClientBase>();
  /** Those that can, and on which the failure of no other one has cast a doubt. */
  #trusted = new WeakSet<pg.ClientBase>();
  #current = 0;

  constructor(options: PoolsOptions) {
    const { length } = options.connections;
    this.#options = options;
    this.#timeoutMs =
      length === 1 ? CONNECT_TIMEOUT_MS : Math.ceil(SEVERAL_CONNECT_TIMEOUT_MS / length);
    this.#pools = options.connections.map((connection) => this.#open(connection));
  }

  /** @throws what every server said, when none of them can write */
  async connect(): Promise<pg.PoolClient> {
    const failures: unknown[] = [];
    const first = this.#current;
    for (const offset of this.#pools.keys()) {
      const index = (first + offset) % this.#pools.length;
      try {
        const client = await this.#take(index);
        this.#current = index;
        return client;
      } catch (error) {
        failures.push(error);
      }
    }
    throw together(failures);
  }

  /**
   * Hears that a connection failed in a way that may have befallen the others, too: a failover, a
   * server that hangs. None that is as old is handed out any more; those that came after stay.
   */
  failed(client: pg.PoolClient): void {
    if (this.#trusted.has(client)) this.#trusted = new WeakSet();
  }

  /** Of all servers together. */
  use(): PoolUse {
    let [total, idle, waiting] = [0, 0, 0];
    for (const { totalCount, idleCount, waitingCount } of this.#pools) {
      total += totalCount;
      idle += idleCount;
      waiting += waitingCount;
    }
    return { total, idle, waiting };
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()));
    // A server that is frozen never closes its end, and must not keep our process alive.
    for (const socket of this.#sockets) socket.unref();
  }

  async #take(index: number): Promise<pg.PoolClient> {
    for (;;) {
      // A new connection is not part of what it is made for: it outlives that.
      const client = await outsideSpans(() => this.#pools[index]?.connect());
      if (client === undefined) throw new RangeError(`no server has the number ${index}`);
      if (this.#fresh.delete(client)) await this.#examine(client);
      if (this.#trusted.has(client)) return client;
      client.release(true);
    }
  }

  /**
   * A pool can do the same by its `verify`, but if whoever waits for the connection gives up
   * meanwhile, it gives the connection to nobody and never takes it back.
   */
  async #examine(client: pg.PoolClient): Promise<void> {
    // Before the look: what is heard of others during it counts for this one, too.
    this.#trusted.add(client);
    try {
      await checkWritable(client, this.#timeoutMs);
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  #open(connection: pg.ClientConfig): pg.Pool {
    const { pool: common, onConnectionError } = this.#options;
    const pool = new pg.Pool({
      ...connection,
      ...common,
      stream: () => this.#createSocket(),
      connectionTimeoutMillis: this.#timeoutMs,
    });
    pool.on('connect', (client) => {
      this.#fresh.add(client);
      // It can break at any time, in use or idle; whoever uses it gets the error as well.
      client.on('error', onConnectionError);
    });
    pool.on('error', () => undefined);
    return pool;
  }

  #createSocket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/** A standby takes connections as well, and refuses every write. */
async function checkWritable(client: pg.ClientBase, timeoutMs: number): Promise<void> {
  const statement = { text: 'show transaction_read_only', query_timeout: timeoutMs };
  const { rows } = await client.query<{ transaction_read_only: string }>(statement);
  if (rows[0]?.transaction_read_only === 'off') return;
  throw new DatabaseUnavailable('the server is read-only (a standby?)');
}

/** What all servers said: worth waiting for, unless none of them will ever have us. */
function together(failures: readonly unknown[]): Error {
  const errors = failures.map(databaseError);
  const isWorthWaiting = errors.some((error) => error instanceof DatabaseUnavailable);
  const [first] = errors;
  if (first !== undefined && (errors.length === 1 || !isWorthWaiting)) return first;
  return databaseError(new AggregateError(errors));
}
