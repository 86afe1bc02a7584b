import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { eventBody } from '../support/stripe/events.ts';

const PLAN = `stripe_subscription_id text, stripe_product_id text, plan_name text,
  subscription_status text`;
const PRISMA_PLAN = `"stripeSubscriptionId" text, "stripeProductId" text, "planName" text,
  "subscriptionStatus" text`;

async function appWith(sql: string) {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await database.query(sql);
  const environment = { ...SETTINGS, DATABASE_URL: url.href, PROFILE: 'off' };
  return { database, environment };
}

/** What `instep tables` prints: the table and its customer's column, or the error. */
async function recognizedIn(sql: string, more: Readonly<Record<string, string>> = {}) {
  const { environment } = await appWith(sql);
  const { code, stdout, stderr } = await runInstep(['tables'], { ...environment, ...more });
  if (code !== 0) return stderr;
  const [table] = stdout.split('\n');
  return `${table}: ${/providerCustomerId +(\S+)/.exec(stdout)?.[1]}`;
}

const ORGANIZATIONS = `create table organizations (id serial, stripe_customer_id text, ${PLAN});`;

test.each([
  [
    'teams, if it has a customer, whatever else there is',
    `create table teams (id serial, stripe_customer_id text, ${PLAN}); ${ORGANIZATIONS}`,
    'public.teams: stripe_customer_id',
  ],
  [
    'the only other table with a customer beside a plan',
    `create table teams (id serial, name text); ${ORGANIZATIONS}
     create table contacts (id serial, stripe_customer_id text, email text);
     create schema other; create table other.accounts (id serial, stripe_customer_id text, ${PLAN});
     create view everything as select * from organizations;`,
    'public.organizations: stripe_customer_id',
  ],
  [
    "Prisma's names",
    `create table "Workspace" (id text, "stripeCustomerId" text, ${PRISMA_PLAN});`,
    'public."Workspace": stripeCustomerId',
  ],
  [
    'stripe_id, if it holds customers',
    `create table accounts (id serial, stripe_id text, ${PLAN});
     insert into accounts (stripe_id) values ('cus_1'), (null), ('cus_2');
     create table subscriptions (id serial, stripe_id text, stripe_status text);
     insert into subscriptions (stripe_id) values ('sub_1');
     create table orders (id serial, customer_id integer, status text);
     create table invoices (id serial, customer_id text, status text);`,
    'public.accounts: stripe_id',
  ],
])('recognizes %s', async (_, sql, expected) => {
  expect(await recognizedIn(sql)).toBe(expected);
});

test('a declared table counts before teams, and a declared column before all names', async () => {
  const both = `create table teams (id serial, stripe_customer_id text, ${PLAN});
                create table clubs (id serial, payer text, ${PLAN});`;
  const INSTEP_TABLES = '{"teams": {"table": "clubs", "columns": {"providerCustomerId": "payer"}}}';
  expect(await recognizedIn(both, { INSTEP_TABLES })).toBe('public.clubs: payer');
  const column = { INSTEP_TABLES: '{"teams": {"columns": {"providerCustomerId": "payer"}}}' };
  expect(await recognizedIn(both, column)).toBe('public.clubs: payer');
});

test('of several tables none is taken, and the message has the line that selects each', async () => {
  const { database, environment } = await appWith(
    `${ORGANIZATIONS}
     create table members (id serial, customer_id text, ${PLAN});
     insert into members (customer_id) values ('cus_1');`,
  );
  const { code, stderr } = await runInstep(['serve'], environment);
  expect(code).toBe(1);
  expect(stderr).toContain(
    'each of public.members, public.organizations can be the table of teams',
  );
  const lines = [...stderr.matchAll(/INSTEP_TABLES='(\{\S+\})'/g)].map(([, json]) => `${json}`);
  expect(lines).toHaveLength(2);
  for (const [index, expected] of [
    'public.members: customer_id',
    'public.organizations: stripe_customer_id',
  ].entries()) {
    const { stdout } = await runInstep(['tables'], {
      ...environment,
      INSTEP_TABLES: lines[index] ?? '',
    });
    const [table] = stdout.split('\n');
    expect(`${table}: ${/providerCustomerId +(\S+)/.exec(stdout)?.[1]}`).toBe(expected);
  }
  expect(await database.query(`select from pg_namespace where nspname = 'instep'`)).toEqual([]);
});

test('a customer_id without customers is not taken', async () => {
  const empty = `create table accounts (id serial, customer_id text, ${PLAN});`;
  for (const sql of [
    empty,
    `${empty} insert into accounts (customer_id) values ('cus_1'), ('7')`,
  ]) {
    expect(await recognizedIn(sql)).toContain('the table teams is missing');
  }
});

test('the user pays: one table is users and teams', async () => {
  const { database, environment } = await appWith(`
    create table users (
      id serial primary key, email text, password_hash text, stripe_customer_id text, ${PLAN}
    );
    insert into users (email, stripe_customer_id) values ('ada@example.com', 'cus_1');`);
  const instep = await startInstep({ ...environment, PROFILE: 'on' });
  expect((await instep.post(eventBody({ customerId: 'cus_1' }))).status).toBe(200);
  expect(await database.query('select subscription_status as status from users')).toEqual([
    { status: 'active' },
  ]);
  const cookie = await sessionCookie(1);
  const user = await fetch(`${instep.url}/api/user`, { headers: { cookie } });
  expect(await user.json()).toMatchObject({ email: 'ada@example.com', role: 'member' });
  expect(await instep.stop()).toBe(0);
});
