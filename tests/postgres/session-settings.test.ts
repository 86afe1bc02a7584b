import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, migrate, type Query } from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  embeddedServer,
  postgresServers,
} from '../support/postgres/test-database.ts';

/** Settings of a database or a role, and the values that statements need instead. */
const NEEDED = {
  DateStyle: ['German, DMY', 'ISO, DMY'],
  TimeZone: ['Asia/Kathmandu', 'UTC'],
  bytea_output: ['escape', 'hex'],
  array_nulls: ['off', 'on'],
  client_min_messages: ['error', 'warning'],
  synchronous_commit: ['off', 'on'],
} as const;

/** Settings that make no difference. */
const OTHERS = {
  IntervalStyle: 'sql_standard',
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
} as const;

const SETTINGS = Object.keys(NEEDED).map((name) => `current_setting('${name}')`);
const READ = `select array[${SETTINGS.join(', ')}] as settings`;

const readSettings = async (query: Query) =>
  (await query<{ settings: string[] }>(READ))[0]?.settings;

/** As a pooler's, the sessions of the app's pool are shared with others. */
const SESSIONS = ['our own', "the app's"] as const;

test('a commit that waits for standbys continues to do so', async () => {
  const url = await createEmptyDatabase(embeddedServer);
  url.searchParams.set('options', '-c synchronous_commit=remote_apply');
  const database = connect(url);
  const [row] = await database.query<{ setting: string }>(
    `select current_setting('synchronous_commit') as setting`,
  );
  expect(row?.setting).toBe('remote_apply');
});

test("a session of the app's pool keeps its settings, even if it has the same timeout as ours", async () => {
  const url = await createEmptyDatabase(embeddedServer);
  url.searchParams.set('options', '-c timezone=Asia/Kathmandu');
  const appPool = new pg.Pool({ connectionString: url.href, max: 1, statement_timeout: 10_000 });
  const database = connect(url, { connection: appPool, maxConnections: 1 });
  const timeZone = `select current_setting('timezone') as "timeZone"`;
  expect(await database.query(timeZone)).toEqual([{ timeZone: 'UTC' }]);
  expect((await appPool.query(timeZone)).rows).toEqual([{ timeZone: 'Asia/Kathmandu' }]);
  await appPool.end();
});

describe.each(postgresServers)('$name', (server) => {
  let url: URL;
  beforeAll(async () => {
    url = await createEmptyDatabase(server);
    const database = connect(url);
    const name = url.pathname.slice(1);
    const set = Object.entries(NEEDED).map(([setting, [value]]) => [setting, value]);
    for (const [setting, value] of [...set, ...Object.entries(OTHERS)]) {
      await database.query(`alter database ${name} set ${setting} = '${value}'`);
    }
  });

  describe.each(SESSIONS)('in sessions that are %s', (whose) => {
    let database: Database;
    let pool: pg.Pool;
    beforeAll(async () => {
      pool = new pg.Pool({ connectionString: url.href });
      database = connect(url, whose === 'our own' ? {} : { connection: pool });
      await migrate(database);
    });
    afterAll(() => pool?.end());

    test('statements and transactions have the settings that Instep needs', async () => {
      const needed = Object.values(NEEDED).map(([, value]) => value);
      expect(await readSettings(database.query)).toEqual(needed);
      expect(await database.transaction(readSettings)).toEqual(needed);
    });

    test('the statements of the log use indexes, however small a table was when they were planned', async () => {
      const text = `select current_setting('enable_seqscan') as "readsTables",
                           current_setting('plan_cache_mode') as plans,
                           current_setting('statement_timeout') as timeout`;
      const statement = { name: 'read_settings', text, values: [] };
      expect(await database.run(statement, 700)).toEqual([
        { readsTables: 'off', plans: 'force_generic_plan', timeout: '700ms' },
      ]);
    });
  });
});
