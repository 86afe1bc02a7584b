// Statements on the primary, without Instep.
import pg from 'pg';
import { instepEnvironment } from './configuration.js';
import { NODES } from './hosts.js';

const ANSWER_TIMEOUT_MS = 1_000;
/** The routine of PostgreSQL that warns when no synchronous standby has a commit. */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

const { username, password, pathname } = new URL(instepEnvironment().DATABASE_URL);

/**
 * Runs a statement on the primary, and resolves when it is committed on two nodes. All nodes are tried
 * at once: two of them can believe that they are the primary.
 */
export async function query(text, values, timeoutMs = ANSWER_TIMEOUT_MS) {
  return await Promise.any(NODES.map((node) => queryOn(node, text, values, timeoutMs)));
}

async function queryOn({ address }, text, values, timeoutMs) {
  const client = new pg.Client({
    host: address,
    user: username,
    password,
    database: pathname.slice(1),
    connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
  });
  client.on('error', () => undefined);
  let isOnTwoNodes = true;
  client.on('notice', ({ routine }) => {
    if (routine === STANDBY_WAIT) isOnTwoNodes = false;
  });
  try {
    await client.connect();
    const { rows } = await client.query('select pg_is_in_recovery() as standby');
    if (rows[0].standby) throw new Error(`${address} is a standby`);
    const result = await client.query(text, values);
    if (!isOnTwoNodes) throw new Error(`${address} has no synchronous standby`);
    return result.rows;
  } finally {
    // A frozen server never closes its end.
    client.connection.stream.destroy();
  }
}
