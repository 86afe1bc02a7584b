import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseRefused, DatabaseUnavailable } from 'instep-engine/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Database, openDatabase } from '../support/internals/database.ts';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

const STATEMENT_TIMEOUT_MS = 1_000;

describe.each(postgresServers)('$name', (server) => {
  let proxy: TcpProxy;
  /** A pool of one connection, so that it hands out the connection that was returned. */
  let database: Database;
  /** A second pool, which interferes with the first one's connection. */
  let operator: Database;
  let lost: Error[];

  beforeAll(async () => {
    const url = await createEmptyDatabase(server);
    operator = connect(url);
    await operator.query('create table notes (text text unique)');
    proxy = await startProxy(url);
  });
  afterAll(() => proxy?.close());

  beforeEach(async () => {
    await operator.query('truncate notes');
    lost = [];
    database = connect(proxy.url, {
      maxConnections: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      onConnectionError: (error) => lost.push(error),
    });
  });

  async function pidOf({ query }: Pick<Database, 'query'>): Promise<number> {
    const [row] = await query<{ pid: number }>('select pg_backend_pid() as pid');
    return row?.pid ?? 0;
  }

  const terminate = (pid: number) => operator.query('select pg_terminate_backend($1)', [pid]);

  const notes = async () =>
    (await operator.query<{ text: string }>('select text from notes')).map(({ text }) => text);

  test('a connection that died while it was idle is not handed out again', async () => {
    const pid = await pidOf(database);
    await terminate(pid);
    await vi.waitFor(() => expect(lost).not.toEqual([]), { timeout: 5_000 });
    expect(await pidOf(database)).not.toBe(pid);
  });

  test('a connection that died in the middle of a statement is not handed out again', async () => {
    const pid = await pidOf(database);
    const sleeping = database.query('select pg_sleep(10)');
    const refused = expect(sleeping).rejects.toThrow(DatabaseUnavailable);
    await untilActive(pid);
    await terminate(pid);
    await refused;
    expect(await pidOf(database)).not.toBe(pid);
  });

  test('a connection that died in a transaction is not handed out again, and the transaction is rolled back', async () => {
    let pid = 0;
    const transaction = database.transaction(async (query) => {
      pid = await pidOf({ query });
      await query(`insert into notes values ('half')`);
      await terminate(pid);
      await query(`insert into notes values ('other half')`);
    });
    await expect(transaction).rejects.toThrow(DatabaseUnavailable);
    expect(await pidOf(database)).not.toBe(pid);
    expect(await notes()).toEqual([]);
  });

  test('a connection that died before its first statement fails only the transaction', async () => {
    // A rejection that is unhandled meanwhile would end the process.
    const transaction = database.transaction(async (query) => {
      await proxy.become('reset');
      await sleep(100);
      await proxy.become('forward');
      await query('select 1');
    });
    await expect(transaction).rejects.toThrow(DatabaseUnavailable);
    expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a connection whose statement was refused is used again', async () => {
    const pid = await pidOf(database);
    await expect(database.query('select 1 / 0')).rejects.toThrow(DatabaseRefused);
    const transaction = database.transaction(async (query) => {
      await query(`insert into notes values ('undone')`);
      await query('select 1 / 0');
    });
    await expect(transaction).rejects.toThrow(DatabaseRefused);
    expect(await pidOf(database)).toBe(pid);
    expect(await notes()).toEqual([]);
    // It is no longer in a transaction.
    await database.query(`insert into notes values ('kept')`);
    expect(await notes()).toEqual(['kept']);
  });

  test('a failed statement whose error is ignored still fails the transaction', async () => {
    const transaction = database.transaction(async (query) => {
      await query(`insert into notes values ('lost')`);
      await query('select 1 / 0').catch(() => undefined);
    });
    await expect(transaction).rejects.toThrow(DatabaseUnavailable);
    expect(await notes()).toEqual([]);
  });

  test('a statement that waits too long for a lock gives up, and its connection stays usable', async () => {
    const pid = await pidOf(database);
    await operator.transaction(async (query) => {
      await query('lock table notes in access exclusive mode');
      const waiting = database.transaction((blocked) => blocked('select from notes'));
      // This happens before the timeout of the statement, so that there is time left for others.
      const error = { code: 'DATABASE_BUSY', cause: { code: '55P03' } };
      await expect(waiting).rejects.toMatchObject(error);
    });
    expect(await pidOf(database)).toBe(pid);
  });

  async function untilActive(pid: number): Promise<void> {
    const statement = `select from pg_stat_activity where pid = $1 and query like '%pg_sleep%'`;
    while ((await operator.query(statement, [pid])).length === 0) await new Promise(setImmediate);
  }
});

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
