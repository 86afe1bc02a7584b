// The connections to the database: database.ts takes each from here, checked for whether its server accepts writes.

import { connect } from 'node:net';
import pg from 'pg';
import { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
import { pause } from '../runtime/retry.ts';
import { outsideSpans } from '../runtime/tracing.ts';
import type { DatabasePool, PoolUse, ServerConnection } from './database-pool.ts';
import { DatabaseUnavailable, DatabaseUnusable, databaseError } from './errors.ts';
import { type Settings, setSettings } from './session-settings.ts';

type ConnectionPoolOptions = {
  /** The server, or the app's own pool, whose size and settings are the app's. */
  connection: ServerConnection | DatabasePool;
  maxConnections: number;
  /** Whether a server that accepts no writes, such as a standby, is refused. */
  needsWrites: boolean;
  /** Of each session that no other client uses. */
  settings: Settings;
  server: SharedServer;
  onConnectionError: (error: Error) => void;
};

/** What all pools of one server know of it. */
export type SharedServer = {
  /** How often a connection broke: after a failover, or with a server that hangs, all older ones are broken too. */
  failures: number;
  /** The connections in use, and since when by `performance.now()`. */
  readonly inUse: Map<pg.PoolClient, number>;
};

/** After one connection got no answer in time, others that have been in use for so long get none either. */
const SILENT_MS = 1_000;

/** The time to connect, and then to answer whether the server accepts writes. */
const CONNECT_TIMEOUT_MS = 2_000;

/** The time for a backend to end before its connection is cut. */
const END_TIMEOUT_MS = 1_000;

/** What is known about a connection since it was checked. */
type CheckedConnection = {
  /** The number of failures before it was opened: after another one, it is not trusted any more. */
  readonly failuresBefore: number;
  readonly ownsSession: boolean;
};

/** A pool whose connections are handed out only if their server accepted what is needed, and none as old has failed since. */
export class ConnectionPool {
  #options: ConnectionPoolOptions;
  #isOfApp: boolean;
  #pool: pg.Pool;
  #checked = new WeakMap<pg.ClientBase, CheckedConnection>();

  constructor(options: ConnectionPoolOptions) {
    const { connection } = options;
    this.#options = options;
    this.#isOfApp = !isServer(connection);
    this.#pool = isServer(connection) ? openPool(connection, options) : poolOf(connection);
  }

  /** @throws the errors of `errors.ts` */
  async connect(): Promise<pg.PoolClient> {
    try {
      for (;;) {
        // A new connection outlives the work that it is opened for, so it is not part of its span.
        const client = await outsideSpans(() => this.#take());
        if (!this.#checked.has(client)) await this.#check(client);
        if (this.#isTrusted(client)) {
          this.#options.server.inUse.set(client, performance.now());
          return client;
        }
        client.release(true);
      }
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Whether no other client uses the session of this connection, so that it has our settings. */
  ownsSession(client: pg.PoolClient): boolean {
    return this.#checked.get(client)?.ownsSession ?? false;
  }

  /** Returns a connection whose work is done. */
  release(client: pg.PoolClient): void {
    this.#options.server.inUse.delete(client);
    client.release();
  }

  /**
   * Takes a broken connection out of its pool, together with all connections to the server that are as old. The
   * connection keeps its place in the pool until its backend has ended, so that there are never more backends than
   * places. If it got no answer in time, the silent ones end too, which would hold their places until their own time is up.
   */
  async discard(client: pg.PoolClient, { cause }: Error): Promise<void> {
    const { server } = this.#options;
    server.inUse.delete(client);
    if (this.#isTrusted(client)) server.failures += 1;
    if (cause instanceof DeadlineExceeded) {
      const silentSinceMs = performance.now() - SILENT_MS;
      for (const [other, sinceMs] of server.inUse) {
        if (sinceMs < silentSinceMs) other.connection.stream.destroy();
      }
    }
    // The wait of a commit for a synchronous standby has no timeout.
    requestCancel(client);
    await Promise.race([client.end(), pause(END_TIMEOUT_MS, { ref: false })]);
    client.connection.stream.destroy();
    client.release(true);
  }

  use(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { total: totalCount, idle: idleCount, waiting: waitingCount };
  }

  async close(): Promise<void> {
    if (!this.#isOfApp) await this.#pool.end();
  }

  #isTrusted(client: pg.PoolClient): boolean {
    return this.#checked.get(client)?.failuresBefore === this.#options.server.failures;
  }

  /**
   * A standby accepts connections too. The `verify` option of a pool could do the same, but if the caller that waits
   * for the connection gives up first, the pool loses the connection.
   */
  async #check(client: pg.PoolClient): Promise<void> {
    const { settings, needsWrites, onConnectionError } = this.#options;
    if (isNative(client)) {
      client.release(true);
      throw new DatabaseUnusable(`the option \`pool\` uses pg-native, ${PASS_A_POOL}`);
    }
    if (this.#isOfApp) client.on('error', onConnectionError);
    // Before the check, so that a failure of other connections during it also counts for this one.
    const failuresBefore = this.#options.server.failures;
    this.#checked.set(client, { failuresBefore, ownsSession: false });
    try {
      const [server] = await ask<{ isWritable: boolean; processId: number }>(client, READ_SERVER);
      if (needsWrites && server?.isWritable !== true) {
        throw new DatabaseUnavailable('the server is read-only (a standby?)');
      }
      // A pooler, whose clients share sessions, has given the client a key of its own.
      const isPooled = server?.processId !== backendKeyOf(client)?.processId;
      if (isPooled || this.#isOfApp) return;
      await ask(client, setSettings(settings, 'session'));
      this.#checked.set(client, { failuresBefore, ownsSession: true });
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** An exhausted pool of an app can let its callers wait forever. */
  #take(): Promise<pg.PoolClient> {
    const connecting = this.#pool.connect();
    if (!this.#isOfApp) return connecting;
    return withDeadline(connecting, CONNECT_TIMEOUT_MS).catch((error: unknown) => {
      if (error instanceof DeadlineExceeded) void connecting.then((late) => late.release(), ignore);
      throw error;
    });
  }
}

function openPool(
  server: ServerConnection,
  { maxConnections, onConnectionError }: ConnectionPoolOptions,
): pg.Pool {
  const pool = new pg.Pool({
    ...server,
    max: maxConnections,
    application_name: 'instep',
    keepAlive: true,
    // An idle connection must not keep alive a process that has nothing else to do.
    allowExitOnIdle: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  pool.on('error', ignore);
  // Added at once, because the server can close the connection with the same bytes that say it is ready. It
  // can break at any time, in use or idle; its user also gets the error.
  pool.on('connect', (client) => client.on('error', onConnectionError));
  return pool;
}

/** Runs statements without a name, so that a pooler can also run them. */
async function ask<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  text: string,
): Promise<Row[]> {
  const statement = { text, query_timeout: CONNECT_TIMEOUT_MS };
  return (await client.query<Row>(statement)).rows;
}

const READ_SERVER = `
  select current_setting('transaction_read_only') = 'off' as "isWritable",
         pg_backend_pid() as "processId"`;

const ignore = () => undefined;

function isServer(connection: ServerConnection | DatabasePool): connection is ServerConnection {
  return 'host' in connection;
}

/** @throws DatabaseUnusable for the pool of another library */
function poolOf(given: DatabasePool): pg.Pool {
  if (isPool(given)) return given;
  throw new DatabaseUnusable(`the option \`pool\` is not a pool of pg, ${PASS_A_POOL}`);
}

const PASS_A_POOL =
  'whose connections Instep can use: pass new pg.Pool(…), or leave it out for connections to DATABASE_URL';

/** Whether libpq has the connection, which neither takes a parser of columns nor can be given up. */
const isNative = (client: object) => !('connection' in client);

/** Checks the members, because the app can have its own copy of `pg`. */
function isPool(given: DatabasePool): given is pg.Pool {
  return 'totalCount' in given && 'options' in given && typeof given.connect === 'function';
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
