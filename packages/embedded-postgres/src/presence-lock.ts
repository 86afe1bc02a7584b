import { Socket } from 'node:net';
import pg from 'pg';
import { systemErrorCode } from './errors.ts';

/** The settings with which `pg` connects. */
export type Connection = {
  /** The directory of the socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Explicit, so that a PGSSLMODE meant for another database does not apply. */
  readonly ssl: false;
};

/**
 * Shows that a process uses the server: an idle connection that shares an advisory lock with those of all
 * other processes. While it is held, no other process stops the server. A process that gets the lock
 * exclusively is the last one. The lock ends with its process, however that ends. Ordinary connections, such
 * as those of the pool, don't count.
 */
export type PresenceLock = {
  /**
   * Gives up the lock for good.
   * @returns whether it was the last one (then no process can get the lock until `close()`), or
   * `lost` when it was gone already
   */
  leave(): Promise<'last' | 'not last' | 'lost'>;
  /** Ends the connection. Afterward the server has forgotten it and its lock. */
  close(): Promise<void>;
};

export type PresenceLockAttempt =
  | { readonly outcome: 'acquired'; readonly lock: PresenceLock }
  /** No process listens on the socket. */
  | { readonly outcome: 'absent'; readonly reason: string }
  /** The server is starting, recovering or stopping, or all of its connections are in use. */
  | { readonly outcome: 'wait'; readonly reason: string }
  /** Waiting does not help. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly cause: unknown };

/** A pair of numbers, which no lock with a single number can conflict with. */
export const LOCK = '1768846452, 1936023924';

/** How long to wait for the exclusive lock: the server needs time to notice a killed process. */
const EXCLUSIVE_TIMEOUT_MS = 100;

const RESPONSE_TIMEOUT_MS = 2_000;

/** Tries once to acquire the lock, for up to `timeoutMs`. It never throws. */
export async function acquirePresenceLock(
  connection: Connection,
  timeoutMs: number,
): Promise<PresenceLockAttempt> {
  const { client, socket } = createClient(connection, {
    application_name: 'instep presence lock',
    query_timeout: RESPONSE_TIMEOUT_MS,
  });
  const timer = setTimeout(() => socket.destroy(new Error('it does not respond')), timeoutMs);
  try {
    await client.connect();
    const { rows } = await client.query<{ isAcquired: boolean }>(
      `select pg_try_advisory_lock_shared(${LOCK}) as "isAcquired"`,
    );
    if (rows[0]?.isAcquired === true) {
      // A process that has nothing left to do can end without releasing.
      socket.unref();
      return { outcome: 'acquired', lock: createPresenceLock(client, socket) };
    }
    await client.end();
    return { outcome: 'wait', reason: 'another process is stopping it' };
  } catch (error) {
    socket.destroy();
    return failedAttempt(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Creates a connection that ignores settings meant for other databases or programs. */
export function createClient(connection: Connection, settings: pg.ClientConfig) {
  const socket = new Socket();
  const client = new pg.Client({
    ...connection,
    ...settings,
    stream: () => socket,
    // It is idle for a long time, and failing to acquire a lock is not an error.
    options: '-c idle_session_timeout=0 -c statement_timeout=0 -c log_min_messages=fatal',
  });
  // The end of the server is reported here first, and the next statement fails with it.
  client.on('error', () => undefined);
  return { client, socket };
}

function createPresenceLock(client: pg.Client, socket: Socket): PresenceLock {
  return {
    async leave() {
      socket.ref();
      try {
        await client.query(`select pg_advisory_unlock_shared(${LOCK})`);
        await client.query(
          `set lock_timeout = ${EXCLUSIVE_TIMEOUT_MS}; select pg_advisory_lock(${LOCK})`,
        );
        return 'last';
      } catch (error) {
        if (stateOf(error) === '55P03') return 'not last';
        socket.destroy();
        return 'lost';
      }
    },
    async close() {
      if (socket.destroyed) return;
      socket.ref();
      // The server closes the connection when its backend has ended; a frozen server never does.
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      const timer = setTimeout(() => socket.destroy(), RESPONSE_TIMEOUT_MS);
      client.end().catch(() => socket.destroy());
      await closed;
      clearTimeout(timer);
    },
  };
}

function failedAttempt(error: unknown): Exclude<PresenceLockAttempt, { outcome: 'acquired' }> {
  const reason = error instanceof Error ? error.message : String(error);
  const code = systemErrorCode(error);
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return { outcome: 'absent', reason };
  if (code === 'EACCES' || code === 'EPERM') return { outcome: 'refused', reason, cause: error };
  const state = stateOf(error);
  // Not authorized, or no such database: a server that Instep did not set up.
  if (/^(?:28|3D)/.test(state)) return { outcome: 'refused', reason, cause: error };
  return { outcome: 'wait', reason };
}

/** The SQLSTATE of an error; empty when it did not come from PostgreSQL. */
function stateOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : '';
}
