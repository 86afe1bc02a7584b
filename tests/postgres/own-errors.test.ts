import { DeadlineExceeded, Stopped } from 'instep-engine/runtime';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { startProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

/** The app's pool, with its option `pipeline`; `null`: ours. */
const POOLS = [null, { pipeline: true }, { pipeline: false }];

const places = postgresServers.flatMap((server) =>
  POOLS.map((options) => ({ server, options, name: server.name, pool: JSON.stringify(options) })),
);

const CONNECTIONS = 3;

/** What our own code throws between two statements. */
const THROWN = [new TypeError('a bug'), new Stopped(), new DeadlineExceeded(10)];

describe.each(places)("$name, the app's pool: $pool", ({ server, options }) => {
  let proxy: TcpProxy;
  let database: Database;
  let pool: pg.Pool | undefined;
  beforeEach(async () => {
    proxy = await startProxy(await createEmptyDatabase(server));
    const connectionString = proxy.url.href;
    pool = options ? new pg.Pool({ connectionString, max: CONNECTIONS, ...options }) : undefined;
    database = connect(proxy.url, {
      ...(pool && { connection: pool }),
      // As many are for the log.
      maxConnections: 2 * CONNECTIONS,
      statementTimeoutMs: 1_000,
    });
    await database.query('create table notes (text text)');
  });
  afterEach(async () => {
    await pool?.end();
    await proxy.close();
  });

  /** The backends of all connections. */
  async function backends(): Promise<readonly number[]> {
    const pids: number[] = [];
    const transactions = Array.from({ length: CONNECTIONS }, () =>
      database.transaction(async (query) => {
        const [row] = await query<{ pid: number }>('select pg_backend_pid() as pid');
        pids.push(row?.pid ?? 0);
        while (pids.length < CONNECTIONS) await new Promise(setImmediate);
      }),
    );
    await Promise.all(transactions);
    return pids.sort();
  }

  const notes = () => database.query<{ text: string }>('select text from notes');

  test.each(THROWN)(
    '$name rolls its transaction back, and keeps all connections',
    async (error) => {
      const before = await backends();
      const transaction = database.transaction(async (query) => {
        await query(`insert into notes values ('undone')`);
        throw error;
      });
      await expect(transaction).rejects.toBe(error);
      expect(await backends()).toEqual(before);
      expect(await notes()).toEqual([]);
    },
  );

  test('a value that can not be sent fails only its transaction', async () => {
    const cyclic: { itself?: unknown } = {};
    cyclic.itself = cyclic;
    const add = { name: 'add', text: 'insert into notes values ($1)' };
    const transaction = database.transaction(async (query) => {
      await query({ ...add, values: ['undone'] });
      await query({ ...add, values: [cyclic] });
    });
    await expect(transaction).rejects.toThrow('circular');
    expect(await notes()).toEqual([]);
  });

  test('a connection whose transaction can not be rolled back is not used again', async () => {
    const bug = new TypeError('a bug');
    const before = await backends();
    let pid = 0;
    const transaction = database.transaction(async (query) => {
      [{ pid } = { pid }] = await query<{ pid: number }>('select pg_backend_pid() as pid');
      await query(`insert into notes values ('undone')`);
      await proxy.become('swallow');
      throw bug;
    });
    await expect(transaction).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', cause: bug });
    await proxy.become('forward');
    expect(before).toContain(pid);
    expect(await backends()).not.toContain(pid);
    expect(await notes()).toEqual([]);
  });

  test('a statement that our own timer ends is given up with its connection', async () => {
    let pid = 0;
    const transaction = database.transaction(async (query) => {
      [{ pid } = { pid }] = await query<{ pid: number }>('select pg_backend_pid() as pid');
      await proxy.become('swallow');
      await query(`insert into notes values ('undone')`);
    });
    await expect(transaction).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      cause: expect.any(DeadlineExceeded),
    });
    await proxy.become('forward');
    expect(await backends()).not.toContain(pid);
    expect(await notes()).toEqual([]);
  });
});
