import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { createEmptyDatabase, postgresServers } from '../support/postgres/test-database.ts';

const PREPARED = 'select count(*) as count from pg_prepared_statements';
const READ = 'select text from notes where text <> $1';

describe.each(postgresServers)('$name', (server) => {
  /** Of one connection, so that it is the same one each time. */
  let database: Database;
  beforeEach(async () => {
    const url = await createEmptyDatabase(server);
    database = openDatabase({
      connections: [{ connectionString: url.href }],
      maxConnections: 1,
      statementTimeoutMs: 10_000,
      onConnectionError: () => undefined,
    });
    await database.query(`create table notes (text varchar); insert into notes values ('a')`);
  });
  afterEach(() => database.close());

  const read = () => database.query(READ, ['']);
  const countPrepared = async () => (await database.query<{ count: number }>(PREPARED))[0]?.count;

  test('a statement is prepared once a connection', async () => {
    for (let count = 0; count < 3; count += 1) expect(await read()).toEqual([{ text: 'a' }]);
    expect(await countPrepared()).toBe(1);
  });

  test.each([
    ['is gone', 'deallocate all'],
    ['does not fit the table any more', 'alter table notes alter text type char(1)'],
  ])('one that %s is asked without a name, then and later', async (_, change) => {
    await read();
    await database.query(change);
    expect(await read()).toEqual([{ text: 'a' }]);
    expect(await database.transaction((query) => query(READ, ['']))).toEqual([{ text: 'a' }]);
    expect(await countPrepared()).toBe(0);
  });

  test('a transaction whose statement is gone is done again as a whole', async () => {
    await read();
    await database.query('deallocate all');
    let attempts = 0;
    await database.transaction(async (query) => {
      attempts += 1;
      await query(`insert into notes values ('b')`);
      await query(READ, ['']);
    });
    expect(attempts).toBe(2);
    expect(await read()).toEqual([{ text: 'a' }, { text: 'b' }]);
  });
});
