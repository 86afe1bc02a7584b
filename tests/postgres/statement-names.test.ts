import { beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

const PREPARED = 'select name from pg_prepared_statements';
const READ = { name: 'read_notes', text: 'select text from notes where text <> $1', values: [''] };

describe.each(postgresServers)('$name', (server) => {
  /** A pool of one connection, so that it is always the same one. */
  let database: Database;
  beforeEach(async () => {
    const url = await createEmptyDatabase(server);
    database = connect(url, {
      maxConnections: 1,
    });
    await database.query(`create table notes (text varchar); insert into notes values ('a')`);
  });

  const read = () => database.query(READ);
  const prepared = async () =>
    (await database.query<{ name: string }>(PREPARED)).map(({ name }) => name);

  test('a named statement is prepared once per connection, and a plain string is not', async () => {
    for (let count = 0; count < 3; count += 1) expect(await read()).toEqual([{ text: 'a' }]);
    await database.query('select text from notes where text <> $1', ['']);
    expect(await prepared()).toEqual([expect.stringMatching(/^instep_read_notes_[0-9a-f]{16}$/)]);
  });

  test.each([
    ['has been deallocated', 'deallocate all'],
    ['no longer fits the table', 'alter table notes alter text type char(1)'],
  ])('a prepared statement that %s runs unprepared, then and later', async (_, change) => {
    await read();
    await database.query(change);
    expect(await read()).toEqual([{ text: 'a' }]);
    await database.query('deallocate all');
    expect(await database.transaction((query) => query(READ))).toEqual([{ text: 'a' }]);
    expect(await prepared()).toEqual([]);
  });

  test('two texts with one name are two statements', async () => {
    await read();
    const other = { ...READ, text: 'select text as other from notes where text <> $1' };
    expect(await database.query(other)).toEqual([{ other: 'a' }]);
    expect(await read()).toEqual([{ text: 'a' }]);
    expect(await prepared()).toHaveLength(2);
  });

  test('a transaction whose statement is gone runs again as a whole', async () => {
    await database.transaction((query) => query(READ));
    await database.query('deallocate all');
    let attempts = 0;
    await database.transaction(async (query) => {
      attempts += 1;
      await query(`insert into notes values ('b')`);
      await query(READ);
    });
    expect(attempts).toBe(2);
    expect(await read()).toEqual([{ text: 'a' }, { text: 'b' }]);
  });
});
