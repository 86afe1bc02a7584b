import { connect } from 'node:net';
import type pg from 'pg';

/** PostgreSQL's number for a cancel request, in place of a protocol version. */
const CANCEL_REQUEST_CODE = 80_877_102;

/**
 * Asks the server to cancel this client's current statement. The request has a connection of its own, and no
 * response. Like libpq's `PQcancel`, it is not encrypted: the server accepts it before authentication, and
 * its key can't be used for anything else.
 */
export function requestCancel(client: pg.Client): void {
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
