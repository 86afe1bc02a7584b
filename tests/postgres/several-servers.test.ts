import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type Database, openDatabase } from 'instep/src/postgres/database.ts';
import { DatabaseUnavailable, DatabaseUnusable } from 'instep/src/postgres/errors.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';

const STATEMENT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 3;

/** A database represents a server, and a proxy represents its network. */
type Server = { readonly url: URL; readonly operator: Database; readonly proxy: TcpProxy };
let first: Server;
let second: Server;
const opened: Database[] = [];

async function startServer(): Promise<Server> {
  const url = await createEmptyDatabase();
  const operator = connect(url);
  await operator.query('create table notes (text text)');
  return { url, operator, proxy: await startProxy(url) };
}

beforeAll(async () => {
  first = await startServer();
  second = await startServer();
});
beforeEach(async () => {
  for (const server of [first, second]) {
    await setReadOnly(server, false);
    await server.proxy.become('forward');
    await server.operator.query('truncate notes');
  }
});
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});
afterAll(async () => {
  for (const server of [first, second]) {
    await server?.operator.close();
    await server?.proxy.close();
  }
});

/** Affects new connections only. Open ones stay unchanged. */
async function setReadOnly({ url, operator }: Server, isReadOnly: boolean): Promise<void> {
  const name = url.pathname.slice(1);
  await operator.query(`alter database ${name} set default_transaction_read_only = ${isReadOnly}`);
}

function open(urls: readonly URL[], statementTimeoutMs = STATEMENT_TIMEOUT_MS): Database {
  const database = openDatabase({
    connections: urls.map(({ href }) => ({ connectionString: href })),
    maxConnections: CONNECTIONS,
    statementTimeoutMs,
    onConnectionError: () => undefined,
  });
  opened.push(database);
  return database;
}

const openBoth = () => open([first.proxy.url, second.proxy.url]);

const atOnce = (work: () => Promise<unknown>) =>
  Promise.all(Array.from({ length: CONNECTIONS }, work));

async function reached(database: Database): Promise<Server> {
  const [row] = await database.query<{ name: string }>('select current_database() as name');
  return first.url.pathname === `/${row?.name}` ? first : second;
}

/** Returns the error, so that the test can't hang. */
const failureOf = (database: Database) => reached(database).catch((error: unknown) => error);

test('the first one, if it accepts writes', async () => {
  expect(await reached(openBoth())).toBe(first);
});

test('the second one, if the first is unreachable, and from then on', async () => {
  const database = openBoth();
  await first.proxy.become('refuse');
  expect(await reached(database)).toBe(second);
  await first.proxy.become('forward');
  expect(await reached(database)).toBe(second);
  await second.proxy.become('refuse');
  // First, its idle connection is found to be broken.
  await vi.waitFor(async () => expect(await reached(database)).toBe(first));
});

test('the second one, if the first accepts no writes', async () => {
  await setReadOnly(first, true);
  expect(await reached(openBoth())).toBe(second);
});

test('the second one, if the first does not complete the connection', async () => {
  await first.proxy.become('swallow');
  expect(await reached(openBoth())).toBe(second);
});

test('the second one, if the first connects and then stops answering', async () => {
  // Authentication succeeds, and the server is ready for statements.
  const welcome = Buffer.from('5200000008000000005a0000000549', 'hex');
  const silent = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.write(welcome));
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const database = open([new URL(`postgres://u@127.0.0.1:${port}/db`), second.proxy.url]);
  expect(await reached(database)).toBe(second);
  silent.close();
});

test('if none accepts writes, the error has the reason for each', async () => {
  await setReadOnly(first, true);
  await second.proxy.become('refuse');
  const database = openBoth();
  for (let round = 0; round < 2; round += 1) {
    const error = await failureOf(database);
    expect(error).toBeInstanceOf(DatabaseUnavailable);
    expect(String(error)).toContain('the server is read-only');
    expect(String(error)).toContain(`ECONNREFUSED 127.0.0.1:${second.proxy.url.port}`);
  }
  await setReadOnly(first, false);
  expect(await reached(database)).toBe(first);
});

test('if all refuse us permanently, the error is permanent', async () => {
  const strange = [first, second].map(({ proxy }) => Object.assign(new URL(proxy.url), NOWHERE));
  expect(await failureOf(open(strange))).toBeInstanceOf(DatabaseUnusable);
  const [, other] = strange;
  await first.proxy.become('refuse');
  const error = await failureOf(open([first.proxy.url, other ?? second.proxy.url]));
  expect(error).toBeInstanceOf(DatabaseUnavailable);
  expect(String(error)).toMatch(/ECONNREFUSED.*"no_such" does not exist/);
});
const NOWHERE = { pathname: '/no_such' };

test('after a failover, one write fails, and none of the old connections is used again', async () => {
  const database = openBoth();
  const write = () => database.transaction((query) => query(`insert into notes values ('a')`));
  await atOnce(() =>
    database.transaction(async (query) => {
      await query('select pg_sleep(0.2)');
      await query('set session characteristics as transaction read only');
    }),
  );
  await setReadOnly(first, true);

  await expect(write()).rejects.toMatchObject({ cause: { code: '25006' } });
  await atOnce(write);
  expect(await second.operator.query('select from notes')).toHaveLength(CONNECTIONS);
});

test('after one connection hung, the others are not tried', async () => {
  const database = open([first.proxy.url], 1_000);
  await atOnce(() => database.query('select pg_sleep(0.2)'));
  await first.proxy.become('swallow');
  await first.proxy.become('forward');
  expect(await failureOf(database)).toBeInstanceOf(DatabaseUnavailable);
  await atOnce(() => reached(database));
});

test('an old connection that fails late does not affect new ones', async () => {
  const database = open([first.proxy.url]);
  const pid = async () => (await database.query<{ pid: number }>(PID))[0]?.pid ?? 0;
  const fail = (afterSeconds: number) =>
    database.transaction(async (query) => {
      await query('select pg_sleep($1)', [afterSeconds]);
      await query('select pg_terminate_backend(pg_backend_pid())');
    });
  // By then, all of them are old.
  await atOnce(() => database.query('select pg_sleep(0.2)'));
  const late = expect(fail(0.5)).rejects.toThrow(DatabaseUnavailable);
  await expect(fail(0)).rejects.toThrow(DatabaseUnavailable);
  const fresh = await pid();
  await late;
  expect(await pid()).toBe(fresh);
});
const PID = 'select pg_backend_pid() as pid';
