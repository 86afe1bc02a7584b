import type { ApplicationId } from 'instep';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { type InstepProcess, runInstep, startInstep } from '../support/process/instep-process.ts';
import { schemaSql } from '../support/schemas/schemas.ts';
import { AUTH_SECRET } from '../support/secrets/test-secrets.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { eventBody } from '../support/stripe/events.ts';

type Shape = {
  readonly sql: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly userId: ApplicationId;
  /** The team's subscription, product, plan name and status, and whether `updatedAt` was set. */
  readonly plan: string;
};

const plan = (columns: string, updatedAt: string, table: string) =>
  `select array[${columns}]::text[] as plan, ${updatedAt} as "isTouched" from ${table}`;

const STARTER_PLAN = 'stripe_subscription_id, stripe_product_id, plan_name, subscription_status';
const LONG_AGO = "'2020-01-01'";
const TOUCHED = `updated_at > now() at time zone 'utc' - interval '1 minute'
                 and updated_at < now() at time zone 'utc' + interval '1 minute'`;

const SHAPES: Readonly<Record<string, Shape>> = {
  'nextjs/saas-starter': {
    sql: `${schemaSql('saas-starter')}
      insert into users (email, password_hash) values ('ada@example.com', 'hash');
      insert into teams (name, stripe_customer_id, updated_at) values ('A', 'cus_1', ${LONG_AGO});`,
    userId: 1,
    plan: plan(STARTER_PLAN, TOUCHED, 'teams'),
  },
  "Prisma's names, with UUIDs": {
    sql: `
      create type "Role" as enum ('member', 'owner');
      create table "User" (
        id uuid primary key, name text, email text not null unique, "passwordHash" text not null,
        role "Role" not null default 'member', "createdAt" timestamp(3) not null default now(),
        "updatedAt" timestamp(3) not null, "deletedAt" timestamp(3)
      );
      create table "Team" (
        id uuid primary key, name text, "stripeCustomerId" text unique,
        "stripeSubscriptionId" text, "stripeProductId" text, "planName" text,
        "subscriptionStatus" text, "updatedAt" timestamp(3) not null
      );
      insert into "User" (id, email, "passwordHash", "updatedAt")
        values ('0b6f6f5e-9d3c-4a1b-8a39-6a3f3a5f2f10', 'ada@example.com', 'hash', now());
      insert into "Team" (id, "stripeCustomerId", "updatedAt")
        values ('9d3c6f5e-0b6f-4a1b-8a39-6a3f3a5f2f10', 'cus_1', ${LONG_AGO});`,
    userId: '0b6f6f5e-9d3c-4a1b-8a39-6a3f3a5f2f10',
    plan: plan(
      '"stripeSubscriptionId", "stripeProductId", "planName", "subscriptionStatus"',
      TOUCHED.replaceAll('updated_at', '"updatedAt"'),
      '"Team"',
    ),
  },
  'declared names in another schema, with ids of text': {
    sql: `
      create schema "My App";
      create table "My App"."select" (
        key text primary key, "full name" text, mail text not null, pw text not null, role text,
        created_at timestamptz not null default now(), updated_at timestamptz default now(),
        deleted_at timestamptz
      );
      create table "My App".orgs (
        key varchar(30) primary key, customer_id text unique, "sub""id" text, product text,
        plan text, status text
      );
      insert into "My App"."select" values ('4711', 'Ada', 'ada@example.com', 'hash', 'member');
      insert into "My App".orgs (key, customer_id) values ('org/1', 'cus_1');`,
    environment: {
      INSTEP_TABLES: JSON.stringify({
        users: {
          schema: 'My App',
          table: 'select',
          columns: { id: 'key', name: 'full name', email: 'mail', passwordHash: 'pw' },
        },
        teams: {
          schema: 'My App',
          table: 'orgs',
          columns: {
            id: 'key',
            providerCustomerId: 'customer_id',
            providerSubscriptionId: 'sub"id',
            providerProductId: 'product',
            planName: 'plan',
            subscriptionStatus: 'status',
          },
        },
      }),
    },
    userId: '4711',
    plan: plan('"sub""id", product, plan, status', 'true', '"My App".orgs'),
  },
  'a schema in DATABASE_URL, with ids above what numbers hold': {
    sql: `
      create schema app;
      create table app.users (
        id bigint primary key, name text, email text, password_hash text, role text,
        created_at timestamptz, updated_at timestamptz, deleted_at timestamptz
      );
      create table app.teams (
        id bigint primary key, provider_customer_id text, provider_subscription_id text,
        provider_product_id text, plan_name text, subscription_status text
      );
      create table app.audit (status text);
      create function app.note() returns trigger language plpgsql as
        $$ begin insert into audit values (new.subscription_status); return new; end $$;
      create trigger note after update of subscription_status on app.teams
        for each row execute function app.note();
      insert into app.users (id, email, password_hash, role)
        values (1234567890123456789, 'ada@example.com', 'hash', 'member');
      insert into app.teams (id, provider_customer_id) values (1234567890123456788, 'cus_1');`,
    parameters: { schema: 'app' },
    userId: '1234567890123456789',
    plan: plan(
      'provider_subscription_id, provider_product_id, plan_name, subscription_status',
      "exists (select from app.audit where status = 'active')",
      'app.teams',
    ),
  },
};

describe.each(Object.entries(SHAPES))('%s', (_, shape) => {
  let instep: InstepProcess;
  let database: Database;

  beforeAll(async () => {
    const url = await createEmptyDatabase();
    database = connect(new URL(url));
    await database.query(shape.sql);
    for (const [name, value] of Object.entries(shape.parameters ?? {})) {
      url.searchParams.set(name, value);
    }
    instep = await startInstep({ DATABASE_URL: url.href, ...shape.environment });
  });
  afterAll(() => instep?.stop());

  test('an event changes the team, and the profile has the contract’s fields', async () => {
    const posted = await instep.post(eventBody({ customerId: 'cus_1', productId: 'prod_1' }));
    expect([posted.status, await posted.json()]).toEqual([200, { received: true }]);
    const [row] = await database.query(shape.plan);
    expect(row).toEqual({ plan: ['sub_1', 'prod_1', null, 'active'], isTouched: true });

    const issued = await runInstep(['session', 'issue', '--user', `${shape.userId}`], {
      AUTH_SECRET,
    });
    const cookie = issued.stdout.trimEnd();
    const profile = await fetch(`${instep.url}/api/user`, { headers: { cookie } });
    expect(await profile.json()).toMatchObject({
      id: shape.userId,
      email: 'ada@example.com',
      passwordHash: 'hash',
      role: 'member',
      deletedAt: null,
    });
  });

  test.each([
    0.5,
    99,
    'no id of this type',
    '00000000-0000-0000-0000-000000000000',
    '9'.repeat(19),
  ])('answers null for the user id %j', async (id) => {
    const cookie = await sessionCookie(id);
    const profile = await fetch(`${instep.url}/api/user`, { headers: { cookie } });
    expect([profile.status, await profile.json()]).toEqual([200, null]);
  });

  test('Instep creates no table beside them', async () => {
    const rows = await database.query(
      `select from pg_tables where tablename in ('users', 'teams') and schemaname = 'public'`,
    );
    expect(rows).toHaveLength(shape.sql.match(/create table (?:users|teams)\b/g)?.length ?? 0);
  });
});
