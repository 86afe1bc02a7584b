// Hides which server is the primary, and what its connections have to be checked for. database.ts takes each
// connection from here.

import { connect, Socket } from 'node:net';
import pg from 'pg';
import { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
import { pause } from '../runtime/retry.ts';
import { outsideSpans } from '../runtime/tracing.ts';
import type { DatabasePool, PoolUse, ServerConnection } from './database-pool.ts';
import { hostOf } from './database-url.ts';
import { DatabaseUnavailable, DatabaseUnusable, errorOfServers, sqlState } from './errors.ts';
import { type Ask, PrimaryFinder, readReplicationState } from './primary-finder.ts';
import { type Settings, setStatements } from './session-settings.ts';

/** Timeouts that the server itself applies to a session. */
export type ServerTimeouts = {
  readonly statement_timeout: number;
  readonly lock_timeout: number;
  readonly idle_in_transaction_session_timeout: number;
};

type PoolsOptions = {
  /**
   * The app's own pool, used instead of `connections` and `pool`. The app controls its size and the settings
   * of its sessions, so each transaction sets our timeouts for itself.
   */
  appPool?: DatabasePool | undefined;
  /** One for each server; which of them is the primary can change at any time. */
  connections: readonly ServerConnection[];
  pool: pg.PoolConfig;
  timeouts: ServerTimeouts;
  settings: Settings;
  onConnectionError: (error: Error) => void;
};

/** The maximum time for connecting, to one server or to several servers together. */
const CONNECT_TIMEOUT_MS = 2_000;
const SEVERAL_CONNECT_TIMEOUT_MS = 3_000;

/** The time for a backend to end before its connection is cut. */
const END_TIMEOUT_MS = 1_000;

/** The time to connect, and to answer, when a connection only asks a server for its state. */
const ASK_TIMEOUT_MS = 1_000;

/**
 * A pool of connections for each server, and one connection that asks it for its state. A connection
 * is handed out only if its server was the primary when it was made, and is not known to be replaced.
 */
export class Pools {
  #options: PoolsOptions;
  /** The time for each server to connect, and then to answer whether it is writable. */
  #timeoutMs: number;
  #pools: readonly pg.Pool[];
  /** One connection to each of several servers, which asks it for its state. */
  #statePools: readonly pg.Pool[];
  #primary: PrimaryFinder;
  #sockets = new Map<Socket, pg.Pool>();
  #checked = new WeakSet<pg.ClientBase>();
  /** The writable connections. All of them lose this trust when one fails. */
  #trusted = new WeakSet<pg.ClientBase>();
  /** The connections whose session is ours alone: it has our timeouts and settings. */
  #withOwnSession = new WeakSet<pg.ClientBase>();

  constructor(options: PoolsOptions) {
    const { connections, appPool, timeouts, onConnectionError } = options;
    const { length } = connections;
    this.#options = options;
    this.#timeoutMs =
      length <= 1 ? CONNECT_TIMEOUT_MS : Math.ceil(SEVERAL_CONNECT_TIMEOUT_MS / length);
    const forWork = { ...timeouts, connectionTimeoutMillis: this.#timeoutMs };
    const forState = { max: 1, connectionTimeoutMillis: ASK_TIMEOUT_MS };
    this.#pools =
      appPool === undefined
        ? connections.map((server) => this.#open({ ...server, ...forWork }, onConnectionError))
        : [poolOf(appPool)];
    this.#statePools =
      length <= 1
        ? []
        : connections.map((server) => this.#open({ ...server, ...forState }, ignore));
    this.#primary = new PrimaryFinder({
      servers: this.#statePools.map((pool) => {
        const ask = askOn(pool, ASK_TIMEOUT_MS);
        return () => outsideSpans(() => readReplicationState(ask));
      }),
      onLeave: (index) => this.#leave(index),
      clockMs: () => performance.now(),
    });
  }

  /** @throws the errors of all servers, when none of them is writable */
  async connect(): Promise<pg.PoolClient> {
    const failures: unknown[] = [];
    const first = await this.#primary.find();
    for (const offset of this.#pools.keys()) {
      const index = (first + offset) % this.#pools.length;
      try {
        const client = await this.#take(index);
        this.#primary.setCurrent(index);
        return client;
      } catch (error) {
        failures[index] = error;
      }
    }
    throw errorOfServers(failures, this.#options.connections.map(nameOf));
  }

  /** Whether no other client uses the session of this connection, so that it has our timeouts and settings. */
  ownsSession(client: pg.PoolClient): boolean {
    return this.#withOwnSession.has(client);
  }

  /**
   * Takes a broken connection out of its pool, together with all connections that are as old: after a
   * failover, or with a server that hangs, they are broken as well. The connection keeps its place in the
   * pool until its backend has ended, so that there are never more backends than places.
   */
  async discard(client: pg.PoolClient): Promise<void> {
    if (this.#trusted.has(client)) {
      this.#trusted = new WeakSet();
      this.#primary.suspect();
    }
    // The wait of a commit for a synchronous standby has no timeout.
    requestCancel(client);
    await Promise.race([client.end(), pause(END_TIMEOUT_MS, { ref: false })]);
    client.connection.stream.destroy();
    client.release(true);
  }

  use(): PoolUse {
    const sum = (count: 'totalCount' | 'idleCount' | 'waitingCount') =>
      this.#pools.reduce((total, pool) => total + pool[count], 0);
    return { total: sum('totalCount'), idle: sum('idleCount'), waiting: sum('waitingCount') };
  }

  async close(): Promise<void> {
    if (this.#options.appPool !== undefined) return;
    await Promise.all([...this.#pools, ...this.#statePools].map((pool) => pool.end()));
    // A frozen server never closes its connections, which must not keep our process alive.
    for (const socket of this.#sockets.keys()) socket.unref();
  }

  async #take(index: number): Promise<pg.PoolClient> {
    const pool = this.#pools[index];
    if (pool === undefined) throw new RangeError(`no server has the number ${index}`);
    for (;;) {
      const { statement_timeout: requested } = pool.options;
      try {
        // A new connection outlives the work that it is opened for, so it is not part of its span.
        const client = await outsideSpans(() => this.#connectTo(pool));
        if (!this.#checked.has(client)) await this.#check(client);
        if (this.#trusted.has(client)) return client;
        client.release(true);
      } catch (error) {
        const isRefused = sqlState(error) === UNSUPPORTED_STARTUP_PARAMETER;
        if (!isRefused || requested === false || this.#options.appPool !== undefined) throw error;
        Object.assign(pool.options, WITHOUT_TIMEOUTS);
      }
    }
  }

  /**
   * The `verify` option of a pool could do the same, but if the caller that waits for the connection gives up
   * first, the pool loses the connection.
   */
  async #check(client: pg.PoolClient): Promise<void> {
    this.#checked.add(client);
    if (this.#options.appPool !== undefined) client.on('error', this.#options.onConnectionError);
    // Before the check, so that a failure of other connections during it also counts for this one.
    this.#trusted.add(client);
    try {
      const ask = askOn(client, this.#timeoutMs);
      const { isWritable, hasTimeouts } = await readSession(ask, this.#options.timeouts);
      if (!isWritable) throw new DatabaseUnavailable('the server is read-only (a standby?)');
      if (this.#statePools.length > 0) this.#primary.verify(await readReplicationState(ask));
      if (!hasTimeouts || this.#options.appPool !== undefined) return;
      await ask(setStatements('set', this.#options.settings));
      this.#withOwnSession.add(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** An exhausted pool of an app can let its callers wait forever. */
  #connectTo(pool: pg.Pool): Promise<pg.PoolClient> {
    const connecting = pool.connect();
    if (this.#options.appPool === undefined) return connecting;
    return withDeadline(connecting, this.#timeoutMs).catch((error: unknown) => {
      if (error instanceof DeadlineExceeded) void connecting.then((late) => late.release(), ignore);
      throw error;
    });
  }

  #open(options: pg.PoolConfig, onConnectionError: (error: Error) => void): pg.Pool {
    const pool: pg.Pool = new pg.Pool({
      ...this.#options.pool,
      ...options,
      stream: () => this.#createSocket(pool),
    });
    pool.on('error', ignore);
    // Added at once, because the server can close the connection with the same bytes that say it is ready. It
    // can break at any time, in use or idle; its user also gets the error.
    pool.on('connect', (client) => client.on('error', onConnectionError));
    return pool;
  }

  #createSocket(pool: pg.Pool): Socket {
    const socket = new Socket();
    this.#sockets.set(socket, pool);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  /** Ends all connections to a server that is not the primary, with what they are waiting for. */
  #leave(index: number): void {
    const pool = this.#pools[index];
    const sockets = [...this.#sockets].filter(([, owner]) => owner === pool);
    if (sockets.length === 0) return;
    this.#trusted = new WeakSet();
    for (const [socket] of sockets) socket.destroy();
  }
}

/** Runs statements without a name, so that a pooler can also run them. */
function askOn(client: pg.Pool | pg.PoolClient, timeoutMs: number): Ask {
  return async <Row extends object>(text: string) => {
    const statement = { text, query_timeout: timeoutMs };
    return (await client.query<Row & pg.QueryResultRow>(statement)).rows;
  };
}

type Session = { isWritable: boolean; hasTimeouts: boolean };

/** A standby also accepts connections, and a pooler can drop the timeouts without an error. */
async function readSession(ask: Ask, timeouts: ServerTimeouts): Promise<Session> {
  const areSet = Object.entries(timeouts).map(
    ([name, timeoutMs]) => `current_setting('${name}')::interval = interval '${timeoutMs} ms'`,
  );
  const [session] = await ask<Session>(`
    select current_setting('transaction_read_only') = 'off' as "isWritable",
           ${areSet.join(' and ')} as "hasTimeouts"`);
  return session ?? { isWritable: false, hasTimeouts: false };
}

const ignore = () => undefined;

/** @throws DatabaseUnusable for the pool of another library */
function poolOf(given: DatabasePool): pg.Pool {
  if (isPool(given)) return given;
  throw new DatabaseUnusable('the option `pool` is not a pool of pg: pass new pg.Pool(…)');
}

/** Checks the members, because the app can have its own copy of `pg`. */
function isPool(given: DatabasePool): given is pg.Pool {
  return 'totalCount' in given && 'options' in given && typeof given.connect === 'function';
}

/** PgBouncer's error for the timeouts of a session, since it shares a session among many clients. */
const UNSUPPORTED_STARTUP_PARAMETER = '08P01';

const WITHOUT_TIMEOUTS: { readonly [Name in keyof ServerTimeouts]: false } = {
  statement_timeout: false,
  lock_timeout: false,
  idle_in_transaction_session_timeout: false,
};

function nameOf(connection: ServerConnection): string {
  return 'host' in connection ? connection.host : hostOf(new URL(connection.connectionString));
}

/** PostgreSQL's number for a cancel request, in place of a protocol version. */
const CANCEL_REQUEST_CODE = 80_877_102;

/**
 * Asks the server to cancel this client's current statement. The request has a connection of its own, and no
 * response. Like libpq's `PQcancel`, it is not encrypted: the server accepts it before authentication, and
 * its key can't be used for anything else.
 */
function requestCancel(client: pg.Client): void {
  const key = backendKeyOf(client);
  if (key === null) return;
  const request = Buffer.alloc(16);
  [request.length, CANCEL_REQUEST_CODE, key.processId, key.secret].forEach((part, index) => {
    request.writeInt32BE(part, index * 4);
  });
  const { host, port } = client;
  const socket = connect(
    host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
  );
  socket.on('error', () => socket.destroy());
  socket.setTimeout(1_000, () => socket.destroy());
  socket.end(request).resume().unref();
}

/** The process id and key of the client's backend, which `pg` stores but does not declare. */
function backendKeyOf(client: pg.Client): { processId: number; secret: number } | null {
  if (!('processID' in client && 'secretKey' in client)) return null;
  const { processID: processId, secretKey: secret } = client;
  return typeof processId === 'number' && typeof secret === 'number' ? { processId, secret } : null;
}
