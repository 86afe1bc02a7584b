import { DatabaseRefused } from 'instep-engine/postgres';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

const ADD = { name: 'add', text: 'insert into notes values ($1, $2)' };
const READ = { name: 'read', text: 'select id, written_at, tags from notes order by id' };
const COUNT = { name: 'count', text: 'select count(*) as count from notes' };
const FIRST = { id: 1, written_at: new Date('2026-01-01'), tags: null };

/** The app's pool, with its option `pipeline`; `null`: ours. */
const POOLS = [null, { pipeline: true }, { pipeline: false }];

const places = postgresServers.flatMap((server) =>
  POOLS.map((options) => ({ server, options, name: server.name, pool: JSON.stringify(options) })),
);

describe.each(places)("$name, the app's pool: $pool", ({ server, options }) => {
  /** A pool of one connection, so that it is always the same one. */
  let database: Database;
  let pool: pg.Pool | undefined;
  beforeEach(async () => {
    const url = await createEmptyDatabase(server);
    pool = options ? new pg.Pool({ connectionString: url.href, max: 1, ...options }) : undefined;
    database = connect(url, {
      ...(pool && { connection: pool }),
      maxConnections: 1,
    });
    await database.query(`
      create table notes (
        id bigint unique deferrable initially deferred,
        written_at timestamp check (written_at > '2000-01-01'),
        tags text[]
      );
      insert into notes values (1, '2026-01-01')`);
  });
  afterEach(() => pool?.end());

  const add = (id: number, writtenAt: string) => ({ ...ADD, values: [id, writtenAt] });

  test('the statements of a transaction are prepared, and answer the first time and later', async () => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const answers = await database.transaction(async (query) => [
        await query(READ),
        await query('select 2 as plain'),
        await query(COUNT),
      ]);
      expect(answers).toEqual([[FIRST], [{ plain: 2 }], [{ count: 1 }]]);
    }
  });

  test('the first statement that fails is the reason, and nothing of its transaction stays', async () => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = database.transaction(async (query) => {
        await query(add(2, '2026-01-01'));
        await query(add(3, '1999-01-01'));
      });
      await expect(refused).rejects.toThrow(DatabaseRefused);
      await expect(refused).rejects.toThrow('notes_written_at_check');
      // The server has skipped it, so it is prepared now.
      expect(await database.query(COUNT)).toEqual([{ count: 1 }]);
    }
    const prepared = await database.query(
      `select from pg_prepared_statements where name like 'instep_count%'`,
    );
    expect(prepared).toHaveLength(1);
  });

  test('a transaction that fails as it is committed is rolled back, and its connection stays usable', async () => {
    const refused = database.transaction((query) => query(add(1, '2026-01-01')));
    await expect(refused).rejects.toThrow('notes_id_key');
    expect(await database.query(READ)).toEqual([FIRST]);
  });

  test('a transaction with less time has it on the server', async () => {
    const read = `select current_setting('statement_timeout') as statement,
                         current_setting('lock_timeout') as lock`;
    const options = { timeoutMs: 700 };
    const short = await database.transaction((query) => query(read), options);
    expect(short).toEqual([{ statement: '700ms', lock: '5s' }]);
    const usual = await database.transaction((query) => query(read));
    expect(usual).toEqual([{ statement: '10s', lock: '5s' }]);
  });

  test('work that goes on after a savepoint keeps what came before it', async () => {
    await database.transaction(async (query) => {
      await query(add(2, '2026-01-01'));
      await query('savepoint before_refused');
      await expect(query(add(3, '1999-01-01'))).rejects.toThrow(DatabaseRefused);
      await expect(query(COUNT)).rejects.toThrow();
      await query('rollback to savepoint before_refused');
      await query(add(4, '2026-01-01'));
    });
    expect(await database.query(COUNT)).toEqual([{ count: 3 }]);
  });
});
