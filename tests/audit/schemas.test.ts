import { readFileSync } from 'node:fs';
import { PLAN_FIELDS } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import type { Schema } from '../support/schemas/schemas.ts';
import { openApp, resultIn } from './audited-app.ts';

/** For each app, a row that is right, one whose plan has ended, one that lacks a plan, and what is recognized. */
const APPS: readonly (readonly [schema: Schema, table: string, rows: string])[] = [
  [
    'saas-starter',
    'public.teams',
    `insert into teams (name, stripe_customer_id, stripe_subscription_id, stripe_product_id, plan_name, subscription_status)
     values ('1', 'cus_right', 'sub_right', 'prod_pro', 'Pro', 'active'),
            ('2', 'cus_ended', 'sub_ended', 'prod_pro', 'Pro', 'active'),
            ('3', 'cus_missing', null, null, null, null)`,
  ],
  [
    'prisma',
    'public."User"',
    `insert into "User" ("id", "stripeCustomerId", "stripeSubscriptionId", "stripePriceId", "stripeCurrentPeriodEnd")
     values ('1', 'cus_right', 'sub_right', 'price_prod_pro', now() + interval '7 days'),
            ('2', 'cus_ended', 'sub_ended', 'price_prod_pro', now() + interval '7 days'),
            ('3', 'cus_missing', null, null, null),
            ('4', 'cus_over', 'sub_over', 'price_prod_pro', now() - interval '7 days')`,
  ],
  [
    'better-auth',
    'public.organization',
    `insert into organization (id, name, slug, stripe_customer_id, plan, subscription_status)
     values ('1', 'x', '1', 'cus_right', 'pro', 'active'),
            ('2', 'x', '2', 'cus_ended', 'pro', 'active'),
            ('3', 'x', '3', 'cus_missing', null, null)`,
  ],
  [
    'supabase',
    'public.customers',
    `insert into auth.users (id)
     select ('00000000-0000-0000-0000-00000000000' || id)::uuid from generate_series(1, 3) as id;
     insert into customers (id, stripe_customer_id, stripe_subscription_id, subscription_status, price_id)
     values ('00000000-0000-0000-0000-000000000001', 'cus_right', 'sub_right', 'active', 'price_prod_pro'),
            ('00000000-0000-0000-0000-000000000002', 'cus_ended', 'sub_ended', 'active', 'price_prod_pro'),
            ('00000000-0000-0000-0000-000000000003', 'cus_missing', null, 'canceled', null)`,
  ],
  [
    'django',
    'public.accounts_account',
    `insert into accounts_account (stripe_customer_id, stripe_subscription_id, stripe_product_id, plan_name, subscription_status)
     values ('cus_right', 'sub_right', 'prod_pro', 'pro', 'active'),
            ('cus_ended', 'sub_ended', 'prod_pro', 'pro', 'active'),
            ('cus_missing', null, null, 'free', '')`,
  ],
];

/** The rows of a table in docs/your-tables.md by their first cell. */
const DOCUMENTED = new Map(
  readFileSync('docs/your-tables.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .map(([, name = '', ...cells]) => [name, cells.slice(0, -1)]),
);

test.each(APPS)('the docs say which columns of %s are recognized', async (schema, table, rows) => {
  const app = await openApp(schema);
  await app.sql(rows);
  app.subscribe('cus_right');
  const { stdout } = await runInstep(['tables'], { ...app.environment, PROFILE: 'off' });
  const columns = new Map(
    [...stdout.matchAll(/^ {2}(\w+) +(\w+) /gm)].map(([, field = '', column]) => [field, column]),
  );
  const written = [...PLAN_FIELDS.map(({ name }) => name), 'updatedAt'];
  const [customer, ...compared] = resultIn(await app.audit(['--json'])).columns;
  expect(DOCUMENTED.get(schema)).toEqual([
    table,
    customer,
    written.flatMap((field) => columns.get(field) ?? []).join(', '),
    compared.join(', '),
  ]);
});

test.each(APPS)('%s needs no option', async (schema, table, rows) => {
  const app = await openApp(schema);
  await app.sql(rows);
  for (const id of ['right', 'missing']) app.subscribe(`cus_${id}`);
  for (const id of ['ended', 'over']) app.subscribe(`cus_${id}`, { status: 'canceled' });
  const ended = await app.audit(['--json']);
  expect(ended.code, ended.stderr).toBe(3);
  const { rows: found, ...others } = resultIn(ended);
  expect(others).toMatchObject({ table, counts: { missing: 1, ended: 1 } });
  expect(found.map(({ customer }) => customer)).toEqual(['cus_ended', 'cus_missing']);
});

test('--price and the other options name columns that are not recognized', async () => {
  const app = await openApp('no tables');
  await app.sql(`
    create schema app;
    create table app."Payers" (key text, payer text, item text, cost text, state text, contract text);
    insert into app."Payers"
    values ('1', 'cus_1', 'prod_pro', 'price_prod_pro', 'active', 'sub_1'),
           ('2', 'cus_2', 'prod_pro', 'price_other', 'active', 'sub_2'),
           ('3', 'cus_3', 'prod_team', 'price_prod_pro', 'active', 'sub_3'),
           ('4', 'cus_4', 'prod_pro', 'price_prod_pro', 'trialing', 'sub_4'),
           ('5', 'cus_5', 'prod_pro', 'price_prod_pro', 'active', 'sub_other')`);
  for (let id = 1; id <= 5; id += 1) app.subscribe(`cus_${id}`);
  const options = ['--customer payer', '--product item', '--price cost', '--status state'];
  const args = ['--table app.Payers', ...options, '--subscription contract'].join(' ').split(' ');
  expect(await app.codes(...args)).toEqual({
    cus_2: 'other_plan',
    cus_3: 'other_plan',
    cus_4: 'other_status',
    cus_5: 'other_subscription',
  });
});
