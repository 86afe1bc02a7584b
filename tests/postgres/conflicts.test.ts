import { DatabaseConflict } from 'instep-engine/postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    const url = await createEmptyDatabase(server);
    const operator = connect(url);
    await operator.query(
      `alter database ${url.pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
    );
    database = connect(url);
    await database.query('create table pair (id integer primary key, n integer default 0)');
    await database.query('insert into pair values (1), (2)');
  });

  const readPair = () => database.query('select n from pair order by id');

  test('transactions that wait for each other both succeed', async () => {
    let attempts = 0;
    const arrived = new Set<number>();
    const cross = (first: number, second: number) =>
      database.transaction(async (query) => {
        attempts += 1;
        await query(`set local deadlock_timeout = '50ms'`);
        await query('update pair set n = n + 1 where id = $1', [first]);
        arrived.add(first);
        while (arrived.size < 2) await new Promise(setImmediate);
        await query('update pair set n = n + 1 where id = $1', [second]);
      });
    await Promise.all([cross(1, 2), cross(2, 1)]);
    expect(attempts).toBeGreaterThan(2);
    expect(await readPair()).toEqual([{ n: 2 }, { n: 2 }]);
  });

  test('concurrent serializable statements on one row all succeed', async () => {
    await database.query('update pair set n = 0');
    // Each statement's snapshot is older than the commit of the transaction that it waits for.
    const holder = database.transaction(async (query) => {
      await query('update pair set n = n + 1 where id = 1');
      const waiting = [1, 2, 3].map(() => database.query('update pair set n = n + 1 where id = 1'));
      while ((await query(`select from pg_locks where not granted`)).length === 0);
      return { waiting };
    });
    await Promise.all((await holder).waiting);
    expect(await readPair()).toEqual([{ n: 4 }, { n: 0 }]);
  });

  test('a transaction that keeps conflicting gives up, and leaves its connection usable', async () => {
    let attempts = 0;
    const hopeless = database.transaction(async (query) => {
      attempts += 1;
      await query(`do $$begin raise exception 'again' using errcode = '40001'; end$$`);
    });
    await expect(hopeless).rejects.toThrow(DatabaseConflict);
    expect(attempts).toBe(5);
    expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
  });
});
