// The connections to the database: database.ts takes each from here, checked for whether its server accepts writes.

import { connect } from 'node:net';
import pg from 'pg';
import { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
import { pause } from '../runtime/retry.ts';
import { outsideSpans } from '../runtime/tracing.ts';
import type {
  DatabasePlace,
  DatabasePool,
  PoolOptions,
  PoolUse,
  ServerConnection,
} from './connection-options.ts';
import { DatabaseUnavailable, DatabaseUnusable, databaseError } from './errors.ts';
import { type Settings, setSettings } from './session-settings.ts';

type ConnectionOptions = DatabasePlace & PoolOptions;

/** What a connection is for. The statements of the log need other settings, so they have sessions of their own. */
export type Purpose = 'log' | 'others';

/** A connection, with what is known of it since it was checked. */
export type Connection = {
  readonly client: pg.PoolClient;
  /** The number of failures before it was opened: after another one, it is not trusted any more. */
  readonly failuresBefore: number;
  /** Whether no other client uses its session, so that the session has our settings. */
  ownsSession: boolean;
  /** The timeout of its session's statements, where it is not that of all statements. */
  timeoutMs?: number;
  /** Since when it has been in use, by `performance.now()`. */
  sinceMs: number;
  /** Why a commit on it can be lost: no synchronous standby has it. */
  lostCommit?: string;
};

/** A batch and the events that are stored alone, at most. */
const LOG_CONNECTIONS = 4;

/** After one connection got no answer in time, others that have been in use for so long get none either. */
const SILENT_MS = 1_000;

/** The time to connect, and then to answer whether the server accepts writes. */
const CONNECT_TIMEOUT_MS = 2_000;

/** The time for a backend to end before its connection is cut. */
const END_TIMEOUT_MS = 1_000;

/**
 * Hands out a connection only if its server accepts what is needed, and none as old has failed since: after a failover, or
 * with a server that hangs, all older ones are broken too.
 */
export class Connections {
  #options: ConnectionOptions;
  #settings: Readonly<Record<Purpose, Settings>>;
  #pools: Readonly<Record<Purpose, pg.Pool>>;
  #known = new WeakMap<pg.PoolClient, Connection>();
  #inUse = new Set<Connection>();
  /** How often a connection broke. */
  #failures = 0;

  constructor(options: ConnectionOptions, settings: Readonly<Record<Purpose, Settings>>) {
    this.#options = options;
    this.#settings = settings;
    this.#pools = openPools(options);
  }

  /** @throws the errors of `errors.ts` */
  async take(purpose: Purpose): Promise<Connection> {
    const { ensureRunning } = this.#options;
    try {
      return await this.#takeTrusted(purpose).catch(async (error: unknown) => {
        if (ensureRunning === undefined) throw error;
        await ensureRunning();
        return await this.#takeTrusted(purpose);
      });
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Returns a connection whose work is done. */
  release(connection: Connection): void {
    this.#inUse.delete(connection);
    connection.client.release();
  }

  /**
   * Takes a broken connection out of its pool, together with all connections that are as old. The connection keeps its
   * place in the pool until its backend has ended, so that there are never more backends than places. If it got no answer
   * in time, the silent ones end too, which would hold their places until their own time is up.
   */
  async discard(connection: Connection, { cause }: Error): Promise<void> {
    const { client } = connection;
    this.#inUse.delete(connection);
    if (this.#isTrusted(connection)) this.#failures += 1;
    if (cause instanceof DeadlineExceeded) {
      const silentSinceMs = performance.now() - SILENT_MS;
      for (const other of this.#inUse) {
        if (other.sinceMs < silentSinceMs) other.client.connection.stream.destroy();
      }
    }
    // The wait of a commit for a synchronous standby has no timeout.
    requestCancel(client);
    await Promise.race([client.end(), pause(END_TIMEOUT_MS, { ref: false })]);
    client.connection.stream.destroy();
    client.release(true);
  }

  use(): PoolUse {
    const pools = this.#distinctPools();
    const sum = (count: 'totalCount' | 'idleCount' | 'waitingCount') =>
      pools.reduce((total, pool) => total + pool[count], 0);
    return { total: sum('totalCount'), idle: sum('idleCount'), waiting: sum('waitingCount') };
  }

  async close(): Promise<void> {
    if (isOfApp(this.#options.connection)) return;
    await Promise.all(this.#distinctPools().map((pool) => pool.end()));
  }

  #distinctPools(): readonly pg.Pool[] {
    return [...new Set(Object.values(this.#pools))];
  }

  #isTrusted({ failuresBefore }: Connection): boolean {
    return failuresBefore === this.#failures;
  }

  async #takeTrusted(purpose: Purpose): Promise<Connection> {
    for (;;) {
      // A new connection outlives the work that it is opened for, so it is not part of its span.
      const client = await outsideSpans(() => this.#takeClient(purpose));
      const connection = this.#known.get(client) ?? (await this.#check(client, purpose));
      if (this.#isTrusted(connection)) {
        connection.sinceMs = performance.now();
        this.#inUse.add(connection);
        return connection;
      }
      client.release(true);
    }
  }

  /** An exhausted pool of an app can let its callers wait forever. */
  async #takeClient(purpose: Purpose): Promise<pg.PoolClient> {
    const connecting = this.#pools[purpose].connect();
    if (!isOfApp(this.#options.connection)) return await connecting;
    try {
      return await withDeadline(connecting, CONNECT_TIMEOUT_MS);
    } catch (error) {
      if (error instanceof DeadlineExceeded) void connecting.then((late) => late.release(), ignore);
      throw error;
    }
  }

  /**
   * A standby accepts connections too. The `verify` option of a pool could do the same, but if the caller that waits
   * for the connection gives up first, the pool loses the connection.
   */
  async #check(client: pg.PoolClient, purpose: Purpose): Promise<Connection> {
    const { connection: place, isReadOnly, onConnectionError } = this.#options;
    // Before the check, so that a failure of other connections during it also counts for this one.
    const failuresBefore = this.#failures;
    const connection: Connection = { client, failuresBefore, ownsSession: false, sinceMs: 0 };
    try {
      if (isNative(client)) {
        throw new DatabaseUnusable(`the option \`pool\` uses pg-native, ${PASS_A_POOL}`);
      }
      if (isOfApp(place)) client.on('error', onConnectionError);
      client.on('notice', ({ routine, message }) => {
        if (routine === STANDBY_WAIT) connection.lostCommit = message ?? 'no standby has it';
      });
      const [server] = await ask<{ isWritable: boolean; processId: number }>(client, READ_SERVER);
      if (!isReadOnly && server?.isWritable !== true) {
        throw new DatabaseUnavailable('the server is read-only (a standby?)');
      }
      // A pooler, whose clients share sessions, has given the client a key of its own.
      const isPooled = server?.processId !== backendKeyOf(client)?.processId;
      connection.ownsSession = !isPooled && !isOfApp(place);
      if (connection.ownsSession) {
        await ask(client, setSettings(this.#settings[purpose], 'session'));
      }
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#known.set(client, connection);
    return connection;
  }
}

function openPools(options: ConnectionOptions): Readonly<Record<Purpose, pg.Pool>> {
  const { connection, maxConnections } = options;
  if (isOfApp(connection)) {
    const pool = poolOf(connection);
    return { log: pool, others: pool };
  }
  const forLog = Math.min(LOG_CONNECTIONS, Math.max(1, Math.floor(maxConnections / 2)));
  const forOthers = Math.max(1, maxConnections - forLog);
  const open = (max: number) => openPool(connection, max, options.onConnectionError);
  return { log: open(forLog), others: open(forOthers) };
}

function openPool(
  server: ServerConnection,
  max: number,
  onConnectionError: (error: Error) => void,
): pg.Pool {
  const pool = new pg.Pool({
    ...server,
    max,
    application_name: 'instep',
    keepAlive: true,
    // An idle connection must not keep alive a process that has nothing else to do.
    allowExitOnIdle: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  pool.on('error', ignore);
  // Added at once, because the server can close the connection with the same bytes that say it is ready. It
  // can break at any time, in use or idle; its user also gets the error. That it ends when the pool does is no news.
  pool.on('connect', (client) =>
    client.on('error', (error) => {
      if (!pool.ending) onConnectionError(error);
    }),
  );
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

/**
 * The routine of PostgreSQL that only warns if the wait for a synchronous standby was canceled: the transaction would be
 * lost together with this server. The application's own triggers can also warn.
 */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

const ignore = () => undefined;

function isOfApp(connection: ServerConnection | DatabasePool): connection is DatabasePool {
  return !('host' in connection);
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
