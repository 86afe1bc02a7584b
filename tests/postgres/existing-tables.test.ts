import { beforeAll, describe, expect, test } from 'vitest';
import {
  applicationTablesOf,
  type Database,
  migrate,
  recognizeTables,
} from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

/** Tables that an application created, with columns and types of its own. */
const TABLES = `
  create type user_role as enum ('guest', 'owner');
  create table users (
    tenant        text not null default 'main',
    id            bigint primary key,
    email         varchar(255) not null,
    password_hash char(60) not null,
    name          varchar(100),
    avatar        bytea not null default 'none',
    role          user_role not null default 'guest',
    created_at    timestamp not null,
    updated_at    timestamp(0) not null,
    deleted_at    timestamp
  );
  create table teams (
    settings                 jsonb not null default '{}',
    id                       smallint primary key,
    provider_customer_id     varchar(255),
    provider_subscription_id varchar(255),
    provider_product_id      varchar(255),
    plan_name                varchar(50),
    subscription_status      varchar(20),
    seats                    integer not null
  );
  insert into users values
    ('main', 5000000000, 'far@example.com', 'x', null, 'a', 'guest', '2024-01-01', '2024-01-01'),
    ('main', 7, 'ada@example.com', 'x', 'Ada', 'a', 'owner', '2024-02-29 12:00:00.5', '2024-03-01');
  insert into teams values
    ('{"color": "red"}', 1, 'cus_shared', null, null, null, null, 5),
    ('{}', 2, 'cus_shared', 'sub_old', 'prod_old', 'Old', 'active', 6),
    ('{}', 3, 'cus_other', 'sub_other', 'prod_other', 'Other', 'active', 7);`;

/** Everything in PostgreSQL's catalog about them, and their rows. */
const PICTURE = `
  select (select json_agg(c order by c.table_name, c.ordinal_position)
            from information_schema.columns c where table_schema = 'public') as columns,
         (select json_agg(pg_get_constraintdef(oid) order by conname) from pg_constraint
           where connamespace = 'public'::regnamespace) as constraints,
         (select count(*)::int from pg_trigger
           where tgrelid in ('users'::regclass, 'teams'::regclass)) as triggers,
         (select json_agg(u order by id) from users u) as users,
         (select json_agg(t order by id) from teams t) as teams`;

/** What is neither PostgreSQL's own nor the app's. */
const REMAINS = `
  select nspname as name
    from pg_namespace
   where nspname not in ('pg_catalog', 'pg_toast', 'information_schema', 'public')
   union all
  select proname from pg_proc where pronamespace = 'public'::regnamespace
   union all
  select evtname from pg_event_trigger
   union all
  select tgname from pg_trigger where not tgisinternal`;

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    database = connect(await createEmptyDatabase(server));
    await database.query(TABLES);
  });

  test('existing tables are used as they are, and stay unchanged', async () => {
    const [before] = await database.query(PICTURE);
    await migrate(database);
    applicationTablesOf(await recognizeTables(database.query, {}));
    const [after] = await database.query(PICTURE);
    expect(after).toEqual(before);
  });

  test('dropping the schema leaves the tables as they are, and nothing of Instep', async () => {
    const [before] = await database.query(PICTURE);
    await database.query('drop schema instep cascade');
    expect(await database.query(PICTURE)).toEqual([before]);
    expect(await database.query(REMAINS)).toEqual([]);
  });
});
