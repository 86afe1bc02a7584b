import { expect, test } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS } from '../support/process/instep-process.ts';
import { issuesOf, openExaminedAccount } from '../support/stripe/examined-account.ts';

const FOREIGN = [
  'create table instep.orders (id integer)',
  'create view instep."Late orders" as select * from instep.orders',
];

test('no command starts while the schema has tables that are not ours, until its statements have moved them', async () => {
  const { url, database } = await createDatabase();
  for (const statement of FOREIGN) await database.query(statement);
  const start = async (command: string, role: string) => {
    const ofRole = new URL(url);
    ofRole.searchParams.set('user', role);
    return await runInstep([command], { ...SETTINGS, DATABASE_URL: ofRole.href });
  };
  await database.query(`
    do $$ begin create role instep login superuser; exception when duplicate_object then end $$;
    alter role instep login superuser`);

  const migrate = await start('migrate', 'app');
  expect(migrate.code).toBe(1);
  expect(migrate.stderr).toMatch(
    /has instep\."Late orders", instep\.orders: run alter table .*\[SCHEMA_SHARED\]\n$/,
  );
  const serve = await start('serve', 'instep');
  expect(serve.code).toBe(1);
  const refusal =
    /: run (alter role instep set search_path = public; alter table .*) \[SCHEMA_SHARED\]\n$/;
  expect(serve.stderr).toMatch(refusal);

  await database.query(refusal.exec(serve.stderr)?.[1] ?? '');
  await database.query('select from public.orders, public."Late orders"');
  expect(await start('migrate', 'instep')).toMatchObject({ code: 0, stderr: '' });
  await database.query('alter role instep reset search_path');
  await database.close();
});

test('the doctor says the same', async () => {
  const account = await openExaminedAccount();
  const ofSchema = async () =>
    issuesOf({
      checks: (await account.examine()).checks.filter(({ name }) => name === 'schema instep'),
    });
  expect(await ofSchema()).toEqual([]);
  for (const statement of FOREIGN) await account.database.query(statement);
  expect(await ofSchema()).toEqual([
    expect.stringMatching(
      /^failure schema instep: .* but has instep\."Late orders", instep\.orders/,
    ),
  ]);
});
