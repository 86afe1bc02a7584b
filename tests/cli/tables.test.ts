import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { jsonLines, runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { eventBody } from '../support/stripe/events.ts';

const TABLES = `
  create schema app;
  create table app.users (
    id serial primary key, name text, email text not null, password_hash text not null,
    role text not null, created_at timestamp, updated_at timestamp, deleted_at timestamp
  );
  create table app."Team" (
    id uuid primary key, "stripeCustomerId" text, "stripeSubscriptionId" text,
    "stripeProductId" text, "planName" text, "subscriptionStatus" text, "updatedAt" timestamp
  );`;

test('shows the columns and the grants, with which a role that owns nothing can serve', async () => {
  const url = await createEmptyDatabase();
  const role = `limited_${randomBytes(4).toString('hex')}`;
  const owner = url.href;
  const database = connect(new URL(url));
  await database.query(TABLES);
  await database.query(`create role ${role} login`);
  url.searchParams.set('schema', 'app');
  try {
    const migrated = await runInstep(['migrate'], { DATABASE_URL: url.href });
    expect(migrated).toMatchObject({ code: 0 });

    url.searchParams.set('user', role);
    url.searchParams.delete('schema');
    const INSTEP_TABLES = JSON.stringify({ users: { schema: 'app' }, teams: { schema: 'app' } });
    const environment = { DATABASE_URL: url.href, INSTEP_TABLES };
    const { code, stdout } = await runInstep(['tables'], environment);
    expect(code).toBe(0);
    expect(stdout).toContain('app."Team"');
    expect(stdout).toMatch(/^ {2}passwordHash +password_hash +text *$/m);
    expect(stdout).toMatch(/^ {2}providerCustomerId +stripeCustomerId +text *$/m);
    expect(stdout).toMatch(/^ {2}name +- +none \(optional\) *$/m);
    expect(stdout.match(/^grant .*;$/gm)).toEqual([
      `grant usage on schema app to ${role};`,
      `grant select (id, name, email, password_hash, role, created_at, updated_at, deleted_at) on app.users to ${role};`,
      `grant select (id, "stripeCustomerId", "stripeSubscriptionId", "stripeProductId", "planName", "subscriptionStatus", "updatedAt") on app."Team" to ${role};`,
      `grant update ("stripeCustomerId", "stripeSubscriptionId", "stripeProductId", "planName", "subscriptionStatus", "updatedAt") on app."Team" to ${role};`,
      `grant usage on schema instep to ${role};`,
      `grant select, insert, update, delete, truncate on all tables in schema instep to ${role};`,
      `grant usage on all sequences in schema instep to ${role};`,
    ]);

    await database.query(stdout.match(/^grant .*;$/gm)?.join('\n') ?? '');
    await database.query(`
      insert into app."Team" (id, "stripeCustomerId")
        values ('9d3c6f5e-0b6f-4a1b-8a39-6a3f3a5f2f10', 'cus_1')`);
    const examined = await runInstep(['doctor', '--json'], { ...SETTINGS, ...environment });
    const checks = jsonLines(examined.stdout);
    expect(checks).toContainEqual(expect.objectContaining({ name: 'privileges', state: 'ok' }));
    const shown = ['team', 'show', '9d3c6f5e-0b6f-4a1b-8a39-6a3f3a5f2f10', '--json'];
    const team = await runInstep(shown, environment);
    expect(JSON.parse(team.stdout)).toMatchObject({ providerCustomerId: 'cus_1' });

    await database.query(`
      alter table app.users enable row level security;
      alter table app."Team" enable row level security`);
    const asked = [
      await runInstep(['tables'], environment),
      await runInstep(['tables', '--role', role], { ...environment, DATABASE_URL: owner }),
    ];
    for (const { stdout } of asked) {
      expect(stdout.match(/^create policy .*;$/gm)).toEqual([
        `create policy instep on app."Team" to ${role} using (true) with check (true);`,
        `create policy instep on app.users for select to ${role} using (true);`,
      ]);
      expect(stdout).toContain(`-- or: alter role ${role} bypassrls;`);
    }
    await database.query(asked[0]?.stdout.match(/^create policy .*;$/gm)?.join('\n') ?? '');
    const again = await runInstep(['tables'], environment);
    expect(again.stdout).not.toContain('create policy');
  } finally {
    await database.query(`drop owned by ${role}; drop role ${role}`);
  }
});

test('exits with 1 and says what is missing', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await database.query(`
    create table users (id serial);
    create table teams (
      id serial, stripe_customer_id text, plan_name integer generated always as (1) stored
    )`);
  const { code, stdout, stderr } = await runInstep(['tables', '--role', 'Our role'], {
    DATABASE_URL: url.href,
  });
  expect(code).toBe(1);
  expect(stdout).toContain('email is missing');
  expect(stdout.match(/^grant .*$/gm)).toEqual([
    'grant usage on schema public to "Our role";',
    'grant select (id) on public.users to "Our role";',
    'grant select (id, stripe_customer_id, plan_name) on public.teams to "Our role";',
    'grant update (stripe_customer_id) on public.teams to "Our role";',
  ]);
  expect(stderr).toContain('teams.plan_name is integer, not text');
});

test.each([
  [
    '{"teams": {"colums": {}}}',
    /INSTEP_TABLES has teams\.colums, which can have only schema, table/,
  ],
  ['{"teams": {"columns": {"plan": "x"}}}', /has teams\.columns\.plan, which is not a field/],
  ['{"teams"', /INSTEP_TABLES must be JSON such as/],
  ['/missing.json', /INSTEP_TABLES must be JSON .*ENOENT/],
])('INSTEP_TABLES=%s exits with 2', async (INSTEP_TABLES, message) => {
  const ended = await runInstep(['tables'], {
    INSTEP_TABLES,
    DATABASE_URL: 'postgres://localhost',
  });
  expect(ended.code).toBe(2);
  expect(ended.stderr).toMatch(message);
});

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
