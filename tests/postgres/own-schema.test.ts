import { expect, test } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
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
