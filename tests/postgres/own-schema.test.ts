import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';
import { issuesOf, openExaminedAccount } from '../support/stripe/examined-account.ts';

// The role of the tests is named `instep`, like our schema.

/** The app's own tables, two of which have the names of tables of ours. */
const TABLES = `
  create table users (id integer primary key, name text, email text, password_hash text, role text,
                      created_at timestamptz, updated_at timestamptz, deleted_at timestamptz);
  create table teams (id integer primary key, name text, stripe_customer_id text unique,
                      stripe_subscription_id text, stripe_product_id text, plan_name text,
                      subscription_status text);
  create table products (price integer);
  insert into products values (42)`;

/** What an app does that connects now. */
async function asApp<Row extends object>(url: URL, ...statements: string[]): Promise<Row[]> {
  const database = connect(url);
  try {
    let rows: Row[] = [];
    for (const statement of statements) rows = await database.query<Row>(statement);
    return rows;
  } finally {
    await database.close();
  }
}

const tablesIn = (schema: string) =>
  `select tablename from pg_tables where schemaname = '${schema}' order by tablename`;

test.each([
  ['"$user", public', 'public', 'public'],
  ['"$user", app, "Other, one", public', 'app, "Other, one", public', 'app'],
  ['app, "$user"', 'app', 'app'],
])(
  'an app whose role is named instep, with the path %s, keeps its tables',
  async (path, without, schema) => {
    const url = await createEmptyDatabase();
    await asApp(
      url,
      `alter role instep in database "${url.pathname.slice(1)}" set search_path = ${path};
     create schema app`,
    );
    await asApp(url, TABLES);
    const environment = { DATABASE_URL: url.href };
    const first = await runInstep(['migrate'], environment);
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('set search_path = ') });
    expect(await runInstep(['migrate'], environment)).toMatchObject({ code: 0, stderr: '' });

    const state = `select price, current_setting('search_path') as path from products`;
    expect(await asApp(url, state)).toEqual([{ price: 42, path: without }]);
    await asApp(url, 'create table orders (id integer)');
    await asApp(url, 'drop schema instep cascade');
    const left = await asApp<{ tablename: string }>(url, tablesIn(schema));
    expect(left.map(({ tablename }) => tablename)).toEqual([
      'orders',
      'products',
      'teams',
      'users',
    ]);
  },
);

test('the server says it in its log', async () => {
  const url = await createEmptyDatabase();
  await asApp(url, TABLES);
  const instep = await startInstep({ ...SETTINGS, DATABASE_URL: url.href });
  await instep.stop();
  expect(instep.lines.join('\n')).toContain('alter role instep in database');
});

test('the doctor names the tables that are not ours, and how to move them', async () => {
  const account = await openExaminedAccount();
  const url = account.databaseUrl;
  const ofSchema = async () =>
    (await account.examine()).checks.filter(({ name }) => name === 'schema instep');
  expect(await ofSchema()).toEqual([]);

  await asApp(url, `alter role instep in database "${url.pathname.slice(1)}" reset search_path`);
  await asApp(
    url,
    'create table orders (id integer)',
    'create view "Late orders" as select * from orders',
  );
  const found = await ofSchema();
  expect(issuesOf({ checks: found })).toEqual([
    expect.stringContaining(`that are deleted with it: instep."Late orders", instep.orders`),
    expect.stringMatching(/^warning schema instep: the schema instep comes first/),
  ]);
  for (const { advice } of found) await asApp(url, (advice ?? '').replace(/^move them: /, ''));
  expect(await ofSchema()).toEqual([]);
  await asApp(url, 'drop schema instep cascade', 'select from orders', 'select from "Late orders"');
});
