import { makeAccessView } from 'instep/src/postgres/access-view.ts';
import type { Database } from 'instep/src/postgres/database.ts';
import { checkSchema, migrate, SchemaNewer } from 'instep/src/postgres/migrate.ts';
import { MIGRATIONS } from 'instep/src/postgres/migrations.ts';
import { recognizeTables } from 'instep/src/postgres/tables/recognize-tables.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
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
  return await database?.query<{ version: number; name: string }>(
    'select version, name from instep.migrations order by applied_at, version',
  );
}

const LEDGER = NAMES.map((name, index) => ({ version: index + 1, name }));

test('migrations are numbered from 1, without a gap', () => {
  expect(NAMES).not.toEqual([]);
  expect(NAMES.map((name) => Number(/^(\d{4})_[a-z0-9_]+$/.exec(name)?.[1]))).toEqual(
    NAMES.map((_, index) => index + 1),
  );
});

test('a migration is compatible with a version up to its own', () => {
  for (const { version, compatibleFrom } of MIGRATIONS) {
    expect(compatibleFrom).toBeGreaterThanOrEqual(1);
    expect(compatibleFrom).toBeLessThanOrEqual(version);
  }
});

describe.each(postgresServers)('$name', (server) => {
  test('all migrations run once, in order', async () => {
    const [database] = (await openNew(server)) as [Database];
    expect(await migrate(database)).toEqual(NAMES);
    expect(await ledgerOf(database)).toEqual(LEDGER);
    expect(await migrate(database)).toEqual([]);
    expect(await ledgerOf(database)).toEqual(LEDGER);
    await checkSchema(database.query);
  });

  test("a subscription's deciding event and latest state become one row, and the view stays", async () => {
    const [database] = (await openNew(server)) as [Database];
    const { query } = database;
    await migrate(database, { migrations: MIGRATIONS.slice(0, 16) });
    await query(`
      insert into teams (name, provider_customer_id) values ('Paid', 'cus_1'), ('Begun', 'cus_2');
      insert into instep.subscriptions
             (customer_id, subscription_id, status, created_at, is_order_ambiguous)
      values ('cus_1', 'sub_1', 'active', '2026-01-01', false);
      insert into instep.latest_states
             (customer_id, subscription_id, status, created_at, since, is_settled, quantity, is_from_log)
      values ('cus_1', 'sub_1', 'past_due', '2026-03-01', '2026-02-01', true, 5, true),
             ('cus_2', 'sub_2', 'incomplete', '2026-03-01', '2026-03-01', true, 1, true);
      insert into teams (name, provider_customer_id) values ('Early', 'cus_3');
      insert into instep.subscriptions
             (customer_id, subscription_id, status, created_at, is_order_ambiguous)
      values ('cus_3', 'sub_3', 'trialing', '2026-01-05', false)`);
    await migrate(database);
    await makeAccessView(database, await recognizeTables(query, {}));
    expect(
      await query(
        `select customer_id, status, latest_status, quantity, is_past_due
           from instep.subscriptions order by customer_id`,
      ),
    ).toEqual([
      {
        customer_id: 'cus_1',
        status: 'active',
        latest_status: 'past_due',
        quantity: 5,
        is_past_due: true,
      },
      {
        customer_id: 'cus_2',
        status: null,
        latest_status: 'incomplete',
        quantity: 1,
        is_past_due: false,
      },
      {
        customer_id: 'cus_3',
        status: 'trialing',
        latest_status: 'trialing',
        quantity: null,
        is_past_due: false,
      },
    ]);
    expect(
      await query('select team_id, reason, since from instep.team_access order by team_id'),
    ).toEqual([
      { team_id: 1, reason: 'past_due', since: new Date('2026-02-01') },
      { team_id: 2, reason: 'incomplete', since: new Date('2026-03-01') },
      { team_id: 3, reason: 'trialing', since: new Date('2026-01-05') },
    ]);
    expect(await query('select customer_id from instep.team_subscriptions')).toEqual([
      { customer_id: 'cus_1' },
      { customer_id: 'cus_3' },
    ]);
    expect(await query(`select to_regclass('instep.latest_states') as "table"`)).toEqual([
      { table: null },
    ]);
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

  test('only missing migrations run', async () => {
    const [database] = (await openNew(server)) as [Database];
    await migrate(database);
    expect(await migrateByNewer(database, 'additive')).toEqual(['tomorrow']);
    const tomorrow = { version: NAMES.length + 1, name: 'tomorrow' };
    expect(await ledgerOf(database)).toEqual([...LEDGER, tomorrow]);
    expect(await database.query('select from instep.tomorrow')).toEqual([]);
  });

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
    version: NAMES.length + 1,
    name: 'change',
    sql: 'alter table instep.products add column change text',
    compatibleFrom: NAMES.length,
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

  test('a migration that can never lock its tables says why, and leaves the database unchanged', async () => {
    const [database, other] = (await openNew(server, 2)) as [Database, Database];
    await migrate(database);
    await whileBackupRuns(other, async () => {
      const migrated = migrate(database, {
        migrations: [...MIGRATIONS, CHANGE],
        giveUpAfterMs: 0,
      });
      await expect(migrated).rejects.toMatchObject({
        code: 'SCHEMA_IN_USE',
        message: expect.stringMatching(/backup, uses a table that change must change/),
      });
    });
    expect(await ledgerOf(database)).toEqual(LEDGER);
  });

  test("a database that is newer than the program is refused with the migration's name, and left unchanged", async () => {
    const [database] = (await openNew(server)) as [Database];
    await migrateByNewer(database, 'breaking');
    for (const attempt of [() => migrate(database), () => checkSchema(database.query)]) {
      const error = await attempt().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SchemaNewer);
      expect(error).toMatchObject({ code: 'SCHEMA_NEWER' });
      expect(String(error)).toMatch(/at migration \d+, .* run the newer version/);
    }
    expect((await ledgerOf(database))?.length).toBe(NAMES.length + 1);
  });

  test('a database that a newer program has only extended is accepted, and left unchanged', async () => {
    const [database] = (await openNew(server)) as [Database];
    await migrateByNewer(database, 'additive');
    expect(await migrate(database)).toEqual([]);
    await checkSchema(database.query);
    expect((await ledgerOf(database))?.length).toBe(NAMES.length + 1);
  });

  test('the error for an empty database says to migrate it', async () => {
    const [database] = (await openNew(server)) as [Database];
    await expect(checkSchema(database.query)).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' });
  });
});
