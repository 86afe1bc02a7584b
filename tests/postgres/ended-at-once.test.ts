import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { DatabaseUnavailable } from 'instep-engine/postgres';
import { expect, test } from 'vitest';
import { openDatabase } from '../support/internals/database.ts';

/** A message of PostgreSQL's protocol: its type, its length, its content. */
function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(type), length, content]);
}

const AUTHENTICATED = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const ENDED = message(
  'E',
  Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'),
);

test('a server that closes a connection in the same bytes that say it is ready does not end the process', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const lost: Error[] = [];
  const database = openDatabase({
    connection: { host: '127.0.0.1', port, user: 'nobody', database: 'none' },
    maxConnections: 1,
    statementTimeoutMs: 1_000,
    onConnectionError: (error) => lost.push(error),
  });
  await expect(database.query('select 1')).rejects.toThrow(DatabaseUnavailable);
  expect(lost.map(({ message }) => message)).toContain(
    'terminating connection due to unexpected postmaster exit',
  );
  await database.close();
  server.close();
});
