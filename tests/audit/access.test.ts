import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { openApp } from './audited-app.ts';

async function openAppWithRole() {
  const app = await openApp('saas-starter');
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
    values ('Acme', 'cus_1', 'prod_pro', 'active'), ('Other', 'cus_2', null, null)`);
  app.subscribe('cus_1');
  const role = `auditor_${randomBytes(4).toString('hex')}`;
  await app.sql(`create role ${role} login; revoke all on schema public from public`);
  onTestFinished(async () => {
    await app.sql(`drop owned by ${role}; drop role ${role}`);
  });
  const url = new URL(app.url);
  url.searchParams.set('user', role);
  url.searchParams.set('schema', 'public');
  return {
    ...app,
    role,
    asRole: (...args: string[]) => app.audit(args, { DATABASE_URL: url.href }),
  };
}

test('a role with select on the one table is enough', async () => {
  const { sql, role, asRole } = await openAppWithRole();
  await sql(`grant usage on schema public to ${role}`);
  const { code, stderr } = await asRole();
  expect(code).toBe(1);
  expect(stderr).toContain('permission denied for table teams');
  await sql(`grant select on teams to ${role}`);
  expect(await asRole()).toMatchObject({ code: 0, stderr: '' });
});

test('a role from which policies can hide rows is refused, because the others would look like all', async () => {
  const { sql, role, asRole } = await openAppWithRole();
  await sql(`
    grant usage on schema public to ${role};
    grant select on teams to ${role};
    alter table teams enable row level security;
    create policy one on teams for select to ${role} using (stripe_customer_id = 'cus_1')`);
  const { code, stdout, stderr } = await asRole();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('row-level security policy for table "teams"');
  await sql(`alter role ${role} bypassrls`);
  expect(await asRole()).toMatchObject({ code: 0 });
});

test('works where no transaction can write, and leaves everything as it was', async () => {
  const { url, sql, audit } = await openAppWithRole();
  const state = () => sql('select xmin::text, * from teams order by id');
  const before = await state();
  await sql(`alter database "${url.pathname.slice(1)}" set default_transaction_read_only = on`);
  expect(await audit()).toMatchObject({ code: 0, stderr: '' });
  expect(await state()).toEqual(before);
  expect(await sql(`select from pg_namespace where nspname = 'instep'`)).toEqual([]);
});
