import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';

function open(url: URL, isReadOnly: boolean) {
  const database = connect(url, {
    maxConnections: 1,
    isReadOnly,
  });
  return database;
}

test('a server that accepts no writes is enough for a database that is opened read-only', async () => {
  const url = await createEmptyDatabase();
  const owner = connect(url);
  const name = url.pathname.slice(1);
  await owner.query(`alter database "${name}" set default_transaction_read_only = on`);
  const refused = open(url, false).query('select');
  await expect(refused).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  const reading = open(url, true);
  expect(await reading.query('select 1 as one')).toEqual([{ one: 1 }]);
  expect(await reading.transaction((query) => query('select 2 as two'))).toEqual([{ two: 2 }]);
});

test('a database that is opened read-only writes nothing, alone and in a transaction', async () => {
  const reading = open(await createEmptyDatabase(), true);
  const sql = 'create table written (id integer)';
  await expect(reading.query(sql)).rejects.toThrow('read-only transaction');
  const work = reading.transaction((query) => query(sql));
  await expect(work).rejects.toThrow('read-only transaction');
});
