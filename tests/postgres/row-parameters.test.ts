import type { Database } from 'instep/src/postgres/database.ts';
import { parametersOf, rowsAs } from 'instep/src/postgres/statement.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

const COLUMNS = { id: 'bigint', name: 'text', isNew: 'boolean' };

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    database = connect(await createEmptyDatabase(server));
  });
  afterAll(() => database?.close());

  test.each([
    ['no rows', []],
    ['one row', [{ id: 1, name: null, isNew: true }]],
    ['values of all types', [1, 2].map((id) => ({ id, name: `"\\${id},{}`, isNew: id > 1 }))],
    ['some values missing', [1, 2].map((id) => ({ id, name: id > 1 ? '' : null, isNew: null }))],
    ['columns without any value', [1, 2, 3].map((id) => ({ id, name: null, isNew: null }))],
  ])('rows are those of the parameters: %s', async (_, rows) => {
    const { count, values } = parametersOf(rows, COLUMNS);
    const text = `select * from ${rowsAs('sent', COLUMNS, count)} order by id`;
    expect(await database.query({ name: 'read_sent', text, values })).toEqual(rows);
  });
});
