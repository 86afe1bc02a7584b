import { expect, test } from 'vitest';
import { migrate } from '../../src/postgres/migrate.ts';
import { readMigrations } from '../../src/postgres/migrations.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { runInstep } from '../support/process/instep-process.ts';

const NAMES = readMigrations().map(({ name }) => name);

test('prints the migrations that it runs, and nothing the second time', async () => {
  const environment = { DATABASE_URL: (await createEmptyDatabase()).href };
  const first = await runInstep(['migrate'], environment);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toBe(`applied  ${NAMES.join(', ')}\n`);
  const second = await runInstep(['migrate', '--json'], environment);
  expect(JSON.parse(second.stdout)).toEqual({ applied: 'nothing; the schema is up to date' });
});

test('two at the same time on an empty database both succeed', async () => {
  const environment = { DATABASE_URL: (await createEmptyDatabase()).href };
  const ended = await Promise.all([1, 2].map(() => runInstep(['migrate'], environment)));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  const [first, second] = ended.map(({ stdout }) => stdout).sort();
  expect(first).toContain(NAMES[0]);
  expect(second).toContain('nothing');
});

test("other commands don't migrate your database and say what to do", async () => {
  const environment = { DATABASE_URL: (await createEmptyDatabase()).href };
  const { code, stdout, stderr } = await runInstep(['user', 'show', '1'], environment);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^instep: the database lacks .*instep migrate.*\n$/);
});

test('a newer schema exits with 1 and one line', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await migrate(database);
  await database.query(`insert into instep.migrations (version, name) values (9999, 'tomorrow')`);
  await database.close();
  for (const command of [['migrate'], ['user', 'show', '1']]) {
    const { code, stdout, stderr } = await runInstep(command, { DATABASE_URL: url.href });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^instep: the database is at migration 9999, .*newer Instep \[SCHEMA_NEWER\]\n$/,
    );
  }
});

test('unfit tables exit with 1 and one line that names the columns', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await database.query('create table users (id integer); create table teams (id uuid)');
  await database.close();
  const { code, stderr } = await runInstep(['migrate'], { DATABASE_URL: url.href });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^instep: .*users\.email \(text\) is missing.*teams\.id is uuid.*\n$/);
});

test('an unreachable database exits with 1 and one line without the password', async () => {
  const away = { DATABASE_URL: 'postgres://instep:canary@127.0.0.1:1/x' };
  const { code, stdout, stderr } = await runInstep(['migrate'], away);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^instep: .*ECONNREFUSED 127\.0\.0\.1:1 \[DATABASE_UNAVAILABLE\]\n$/);
});
