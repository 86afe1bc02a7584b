import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  checkSchema,
  type Database,
  MIGRATIONS,
  migrate,
  newestVersion,
} from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  migrateByNewer,
  postgresServers,
} from '../support/postgres/test-database.ts';

const NAMES = MIGRATIONS.map(({ name }) => name);

const opened: Database[] = [];
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});

/** This many pools on one new, empty database. */
async function openNew(server: (typeof postgresServers)[number], pools = 1): Promise<Database[]> {
  const url = await createEmptyDatabase(server);
  opened.push(...Array.from({ length: pools }, () => connect(url)));
  return opened;
}

async function ledgerOf(database: Database | undefined) {
  return await database?.query<{ owner: string; version: number; name: string }>(
    'select owner, version, name from instep.migrations order by owner, version',
  );
}

/** Every table and index, and the migrations that were run. */
async function contentsOf(database: Database) {
  const relations = await database.query(
    'select oid, relname, relnatts from pg_class where oid > 16383 order by oid',
  );
  return { relations, ledger: await ledgerOf(database) };
}

const LEDGER = MIGRATIONS.map(({ owner, version, name }) => ({ owner, version, name })).sort(
  (one, other) => (one.owner < other.owner ? -1 : 1),
);

describe.each(postgresServers)('$name', (server) => {
  test('all migrations run once, in order', async () => {
    const [database] = (await openNew(server)) as [Database];
    expect(await migrate(database)).toEqual(NAMES);
    expect(await ledgerOf(database)).toEqual(LEDGER);
    expect(await migrate(database)).toEqual([]);
    expect(await ledgerOf(database)).toEqual(LEDGER);
    await checkSchema(database.query);
  });

  test("our tables are in our own schema, and the application's are not", async () => {
    const [database] = (await openNew(server)) as [Database];
    await database.query(`
      create schema if not exists instep;
      do $$ begin create role instep superuser; exception when duplicate_object then null; end $$;
      set role instep;`);
    await migrate(database);
    const statement = `select schemaname || '.' || tablename as name
                         from pg_tables
                        where tablename in ('users', 'teams', 'events')
                        order by name`;
    const names = (await database.query<{ name: string }>(statement)).map(({ name }) => name);
    expect(names).toEqual(['instep.events', 'public.teams', 'public.users']);
  });

  test('bodies of events are compressed, with lz4 where PostgreSQL has it', async () => {
    const [database] = (await openNew(server)) as [Database];
    await migrate(database);
    await database.query(
      `insert into instep.events (key, type, received_at, deliveries, outcome, body)
       values (gen_random_uuid(), 'type', now(), 1, 'unreadable',
               convert_to(repeat('"cancel_at_period_end": false,', 100), 'UTF8'))`,
    );
    const [stored] = await database.query<{ method: string; hasLz4: boolean }>(
      `select pg_column_compression(body) as method, 'lz4' = any (enumvals) as "hasLz4"
         from instep.events
         join pg_settings on name = 'default_toast_compression'`,
    );
    expect(stored?.method).toBe(stored?.hasLz4 ? 'lz4' : 'pglz');
  });

  test("no table is created beside an application's tables that follow our schema on the search path", async () => {
    const url = await createEmptyDatabase(server);
    url.searchParams.set('options', '-c search_path=instep,app');
    const database = connect(url);
    opened.push(database);
    await database.query('create schema instep; create schema app');
    await database.query(
      'create table app.users (id integer); create table app.teams (id integer)',
    );
    await migrate(database);
    const rows = await database.query(
      `select schemaname as schema from pg_tables where tablename in ('users', 'teams')`,
    );
    expect(rows).toEqual([{ schema: 'app' }, { schema: 'app' }]);
  });

  test.each([2, 10])(
    '%i migrations of an empty database at the same time all succeed',
    async (count) => {
      const databases = await openNew(server, count);
      const applied = await Promise.all(databases.map((database) => migrate(database)));
      expect(applied.filter((names) => names.length > 0)).toEqual([NAMES]);
      expect(await ledgerOf(databases[0])).toEqual(LEDGER);
    },
  );

  test('a failing migration rolls back those before it', async () => {
    const [database] = (await openNew(server)) as [Database];
    await database.query('create schema instep');
    await database.query('create table instep.products (mine text)');
    await expect(migrate(database)).rejects.toThrow(/"products" already exists/);
    const [row] = await database.query(
      `select to_regclass('users') as users, to_regclass('instep.migrations') as ledger`,
    );
    expect(row).toEqual({ users: null, ledger: null });
    await database.query('drop table instep.products');
    expect(await migrate(database)).toEqual(NAMES);
  });

  test.each(['users', 'teams'])('no other table is created beside %s', async (table) => {
    const [database] = (await openNew(server)) as [Database];
    await database.query(`create table ${table} (id integer)`);
    await migrate(database);
    const rows = await database.query(
      `select tablename as name from pg_tables where schemaname <> 'instep'
          and tablename in ('users', 'teams')`,
    );
    expect(rows).toEqual([{ name: table }]);
  });

  test('a failing check rolls back all migrations', async () => {
    const [database] = (await openNew(server)) as [Database];
    const verify = async () => {
      throw new RangeError('does not fit');
    };
    await expect(migrate(database, { verify })).rejects.toThrow('does not fit');
    const rows = await database.query(
      `select from pg_tables where tablename in ('events', 'users')`,
    );
    expect(rows).toEqual([]);
    expect(await migrate(database)).toEqual(NAMES);
    await expect(migrate(database, { verify })).rejects.toThrow('does not fit');
  });

  /** Holds the lock of a backup until `work` is done. */
  async function whileBackupRuns(database: Database, work: () => Promise<unknown>) {
    await database.transaction(async (query) => {
      await query('lock table instep.products in access share mode');
      await work();
    });
  }

  const CHANGE = {
    owner: 'engine',
    version: newestVersion() + 1,
    name: 'change',
    sql: 'alter table instep.products add column change text',
    compatibleFrom: newestVersion(),
  };

  test('statements pass a migration that waits for the end of a backup', async () => {
    const [database, other] = (await openNew(server, 2)) as [Database, Database];
    await migrate(database);
    let migrated: Promise<string[]> | undefined;
    await whileBackupRuns(other, async () => {
      migrated = migrate(database, { migrations: [...MIGRATIONS, CHANGE] });
      await vi.waitFor(async () => {
        const waiting = await other.query(
          `select from pg_locks where relation = 'instep.products'::regclass and not granted`,
        );
        expect(waiting).toHaveLength(1);
      });
      await other.query(`insert into instep.products (product_id) values ('prod_1')`);
    });
    expect(await migrated).toEqual(['change']);
  });

  test('a database that a newer program has changed is refused, and left unchanged', async () => {
    const [database] = (await openNew(server)) as [Database];
    await migrateByNewer(database, 'breaking');
    const before = await contentsOf(database);
    for (const attempt of [() => migrate(database), () => checkSchema(database.query)]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
    }
    expect(await contentsOf(database)).toEqual(before);
  });

  test('a database that a newer program has only extended is accepted, and left unchanged', async () => {
    const [database] = (await openNew(server)) as [Database];
    await migrateByNewer(database, 'additive');
    expect(await migrate(database)).toEqual([]);
    await checkSchema(database.query);
    expect((await ledgerOf(database))?.length).toBe(NAMES.length + 1);
  });
});
