import { expect, test } from 'vitest';
import { connect, createDatabase, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS } from '../support/process/instep-process.ts';

test('no command starts while the schema has tables that are not ours, until its statements have moved them', async () => {
  const { url, database } = await createDatabase();
  await database.query('create table instep.orders (id integer)');
  await database.query('create view instep."Late orders" as select * from instep.orders');
  const start = (command: string) => runInstep([command], { ...SETTINGS, DATABASE_URL: url.href });
  expect(await start('serve')).toMatchObject({ code: 1 });
  const { code, stderr } = await start('migrate');
  expect(code).toBe(1);
  const refusal =
    /has instep\."Late orders", instep\.orders: .* run (alter .*) \[SCHEMA_SHARED\]\n$/;
  expect(stderr).toMatch(refusal);
  await database.query(refusal.exec(stderr)?.[1] ?? '');
  await database.query('select from public.orders, public."Late orders"');
  expect(await start('migrate')).toMatchObject({ code: 0, stderr: '' });
});

test('a database that is not UTF-8 is refused', async () => {
  const url = await createEmptyDatabase();
  const name = `${url.pathname.slice(1)}_latin`;
  await connect(url).query(
    `create database ${name} encoding 'LATIN1' locale 'C' template template0`,
  );
  url.pathname = `/${name}`;
  const { code, stderr } = await runInstep(['migrate'], { ...SETTINGS, DATABASE_URL: url.href });
  expect(code).toBe(1);
  expect(stderr).toMatch(/LATIN1.*\[DATABASE_UNUSABLE\]\n$/);
});
