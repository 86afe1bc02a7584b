import pg from 'pg';
import { DatabaseUnavailable, sqlState } from './errors.ts';

export type PoolsOptions = {
  /** One for each server; which of them is the primary may change at any time. */
  readonly connections: readonly pg.ClientConfig[];
  /** What all of them have in common. */
  readonly pool: pg.PoolConfig;
  readonly onConnectionError: (error: Error) => void;
};

/** How long connecting may take, all servers together: so long, or a little longer for several. */
const CONNECT_TIMEOUT_MS = 2_000;
const SEVERAL_CONNECT_TIMEOUT_MS = 3_000;

/** PostgreSQL's `read_only_sql_transaction`. */
const READ_ONLY = '25006';

/**
 * A pool of connections for each server, of which the one that last could write is asked first. A
 * connection is handed out only if its server took writes when it was made.
 */
export class Pools {
  readonly #options: PoolsOptions;
  #pools: readonly pg.Pool[];
  #current = 0;

  constructor(options: PoolsOptions) {
    this.#options = options;
    this.#pools = options.connections.map((connection) => this.#open(connection));
  }

  /** @throws what the last server said, when none of them can write */
  async connect(): Promise<pg.PoolClient> {
    let failure: unknown;
    const first = this.#current;
    for (let offset = 0; offset < this.#pools.length; offset += 1) {
      const index = (first + offset) % this.#pools.length;
      try {
        const client = await this.#pools[index]?.connect();
        if (client === undefined) continue;
        this.#current = index;
        return client;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /**
   * Hears what a statement failed of. Where one found its server read-only, the other idle
   * connections would too: all of them are thrown away.
   */
  failed(cause: unknown): void {
    if (sqlState(cause) !== READ_ONLY) return;
    // Those in use are closed as soon as they are given back.
    for (const pool of this.#pools) void pool.end();
    this.#pools = this.#options.connections.map((connection) => this.#open(connection));
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()));
  }

  #open(connection: pg.ClientConfig): pg.Pool {
    const { connections, pool: common, onConnectionError } = this.#options;
    const pool = new pg.Pool({
      ...connection,
      ...common,
      connectionTimeoutMillis:
        connections.length === 1
          ? CONNECT_TIMEOUT_MS
          : Math.ceil(SEVERAL_CONNECT_TIMEOUT_MS / connections.length),
      verify: checkWritable,
    });
    // A connection can break at any time, in use or idle; whoever uses it gets the error as well.
    pool.on('connect', (client) => client.on('error', onConnectionError));
    pool.on('error', () => undefined);
    return pool;
  }
}

/** A standby takes connections as well, and refuses every write. */
function checkWritable(client: pg.ClientBase, done: (error?: Error) => void): void {
  client.query<{ transaction_read_only: string }>('show transaction_read_only').then(
    ({ rows }) => {
      const isWritable = rows[0]?.transaction_read_only === 'off';
      done(
        isWritable ? undefined : new DatabaseUnavailable('the server is read-only (a standby?)'),
      );
    },
    (error: Error) => done(error),
  );
}
