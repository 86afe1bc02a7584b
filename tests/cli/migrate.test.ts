import { expect, test } from 'vitest';
import { MIGRATIONS } from '../support/internals/database.ts';
import { connect, createEmptyDatabase, migrateByNewer } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS } from '../support/process/instep-process.ts';

const NAMES = MIGRATIONS.map(({ name }) => name);

test('creates users and teams only with --create-tables, and otherwise says what to do first', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  for (const command of ['migrate', 'serve']) {
    const refused = await runInstep([command], { ...SETTINGS, DATABASE_URL: url.href });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("run your app's migrations first");
    expect(await database.query(CONTENTS)).toEqual([{ schemas: ['public'], tables: null }]);
  }
  await runInstep(['migrate', '--create-tables'], { DATABASE_URL: url.href });
  expect(await database.query(CONTENTS)).toMatchObject([{ tables: ['teams', 'users'] }]);
});

test('prints the migrations that it runs, and nothing the second time', async () => {
  const environment = { DATABASE_URL: (await createEmptyDatabase()).href };
  const first = await runInstep(['migrate', '--create-tables'], environment);
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toBe(`applied  ${NAMES.join(', ')}\n`);
  const second = await runInstep(['migrate', '--json'], environment);
  expect(second).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(second.stdout)).toEqual({ applied: 'nothing; the schema is up to date' });
});

test("other commands don't migrate your database, and say what to do", async () => {
  const environment = { DATABASE_URL: (await createEmptyDatabase()).href };
  const { code, stdout, stderr } = await runInstep(['team', 'show', '1'], environment);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^instep: the database lacks .*instep migrate.*\n$/);
});

test('the schema of another version exits with 1 and one line', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await migrateByNewer(database, 'breaking');
  for (const command of [['migrate'], ['team', 'show', '1'], ['serve']]) {
    const ended = await runInstep(command, { ...SETTINGS, DATABASE_URL: url.href });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^instep: the database is at migration \d+ of engine, .* run the version that migrated it \[SCHEMA_NEWER\]\n$/,
    );
  }
});

/** The tables and schemas that aren't PostgreSQL's own. */
const CONTENTS = `
  select (select json_agg(nspname order by nspname) from pg_namespace
           where nspname !~ '^(pg_|information_schema$)') as schemas,
         (select json_agg(relname order by relname) from pg_class
           where relkind = 'r' and relnamespace = 'public'::regnamespace) as tables`;

test('migrate and serve report tables that do not fit, and leave nothing behind', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await database.query('create table users (id integer); create table teams (id bytea)');
  const before = await database.query(CONTENTS);
  for (const command of ['migrate', 'serve']) {
    const ended = await runInstep([command], { ...SETTINGS, DATABASE_URL: url.href });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/^instep: .* \[APPLICATION_TABLES_UNFIT\]\n$/);
    expect(await database.query(CONTENTS)).toEqual(before);
  }
});

test('an unreachable database exits with 1 and says what to check, without the password', async () => {
  const away = { DATABASE_URL: 'postgres://instep:canary@127.0.0.1:1/x' };
  const { code, stdout, stderr } = await runInstep(['migrate'], away);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^instep: .*ECONNREFUSED 127\.0\.0\.1:1 \[DATABASE_UNAVAILABLE\]\n→ .*in its URL\n$/,
  );
});
