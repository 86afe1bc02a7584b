import { Socket } from 'node:net';
import pg from 'pg';
import { sqlState } from '../errors.ts';
import { systemErrorCode } from './system-error-code.ts';

/** What `pg` connects with. */
export type Connection = {
  /** The folder of the socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Said out loud, so that a PGSSLMODE meant for another database does no harm. */
  readonly ssl: false;
};

/**
 * A process's place at the server: an idle connection that shares an advisory lock with the seats
 * of all the other processes. While it holds, no other process stops the server; and whoever gets
 * the lock alone is the last. The system ends it with the process, however that ends. Ordinary
 * connections, the pool's among them, play no part.
 */
export type PresenceLock = {
  /**
   * Gives up the seat for good.
   * @returns whether it was the last (then nobody can take a seat until `close()`), or `lost` when
   * it was gone already, with the server or without it
   */
  leave(): Promise<'last' | 'not last' | 'lost'>;
  /** Ends the connection. When this returns, the server has forgotten it and its lock. */
  close(): Promise<void>;
};

export type PresenceLockAttempt =
  | { readonly outcome: 'seated'; readonly seat: PresenceLock }
  /** Nothing listens on the socket. */
  | { readonly outcome: 'absent'; readonly reason: string }
  /** The server runs, and all of its connections are taken. */
  | { readonly outcome: 'full'; readonly reason: string }
  /** Something is there that has no seat for us now: it is starting, recovering or stopping. */
  | { readonly outcome: 'wait'; readonly reason: string }
  /** Waiting will not help. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly cause: unknown };

/** The pair of numbers that the lock goes by: no lock with one number can meet it. */
const LOCK = '1768846452, 1936023924';

/** How long whoever leaves waits for the lock. */
const GRACE_MS = 100;

const ANSWER_TIMEOUT_MS = 2_000;

/** Tries once to take a seat, for `timeoutMs` at most. It never throws. */
export async function acquirePresenceLock(
  connection: Connection,
  timeoutMs: number,
): Promise<PresenceLockAttempt> {
  const socket = new Socket();
  const client = new pg.Client({
    ...connection,
    stream: () => socket,
    application_name: 'instep seat',
    query_timeout: ANSWER_TIMEOUT_MS,
    // An idle connection is the whole point, and not getting the lock is no news. No PGOPTIONS
    // that is meant for another database comes in here.
    options: '-c idle_session_timeout=0 -c statement_timeout=0 -c log_min_messages=fatal',
  });
  // The end of the server reaches us here first. Whoever uses the seat next finds out.
  client.on('error', () => undefined);
  const timer = setTimeout(() => socket.destroy(new Error('it does not answer')), timeoutMs);
  try {
    await client.connect();
    const { rows } = await client.query<{ seated: boolean }>(
      `select pg_try_advisory_lock_shared(${LOCK}) as seated`,
    );
    if (rows[0]?.seated === true) {
      // A process that has nothing left to do may end without having left.
      socket.unref();
      return { outcome: 'seated', seat: seatOn(client, socket) };
    }
    await client.end();
    return { outcome: 'wait', reason: 'another process is stopping it' };
  } catch (error) {
    socket.destroy();
    return judge(error);
  } finally {
    clearTimeout(timer);
  }
}

function seatOn(client: pg.Client, socket: Socket): PresenceLock {
  return {
    async leave() {
      socket.ref();
      try {
        await client.query(`select pg_advisory_unlock_shared(${LOCK})`);
        // The server needs a moment to notice the end of a process that was killed.
        await client.query(`set lock_timeout = ${GRACE_MS}; select pg_advisory_lock(${LOCK})`);
        return 'last';
      } catch (error) {
        if (sqlState(error) === '55P03') return 'not last';
        socket.destroy();
        return 'lost';
      }
    },
    async close() {
      if (socket.destroyed) return;
      socket.ref();
      // The server closes its end when its process is done with everything. One that is frozen
      // never does.
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      const timer = setTimeout(() => socket.destroy(), ANSWER_TIMEOUT_MS);
      client.end().catch(() => socket.destroy());
      await closed;
      clearTimeout(timer);
    },
  };
}

function judge(error: unknown): Exclude<PresenceLockAttempt, { outcome: 'seated' }> {
  const reason = error instanceof Error ? error.message : String(error);
  const code = systemErrorCode(error);
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return { outcome: 'absent', reason };
  if (code === 'EACCES' || code === 'EPERM') return { outcome: 'refused', reason, cause: error };
  const state = sqlState(error);
  if (state === '53300') return { outcome: 'full', reason };
  // Not authorised, or no such database: a server that we did not set up.
  if (/^(?:28|3D)/.test(state)) return { outcome: 'refused', reason, cause: error };
  return { outcome: 'wait', reason };
}
