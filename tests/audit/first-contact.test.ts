import { describe, expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import { openApp } from './audited-app.ts';

const STARTER_ROW = `
  insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
  values ('Acme', 'cus_1', 'prod_pro', 'active')`;

/** The lines of an audit that did not finish, without a result. */
async function expectRefusal(
  audited: Promise<{ code: number | string; stdout: string; stderr: string }>,
  code: number,
  ...parts: readonly string[]
) {
  const ended = await audited;
  expect(ended.code, ended.stdout + ended.stderr).toBe(code);
  expect(ended.stdout).not.toMatch(/ are right|^\{|^code,/m);
  for (const part of parts) expect(ended.stderr).toContain(part);
}

describe('exits with 2 and says what to set', () => {
  test('without a database or a key', async () => {
    const { environment } = await openApp('no tables');
    const { DATABASE_URL: _, ...noDatabase } = environment;
    await expectRefusal(
      runInstep(['audit'], noDatabase),
      2,
      'DATABASE_URL is missing, and there is no database in ',
    );
    const { STRIPE_SECRET_KEY: __, ...noKey } = environment;
    await expectRefusal(
      runInstep(['audit'], noKey),
      2,
      'STRIPE_SECRET_KEY is missing: set a secret or restricted key',
    );
    const broken = { ...environment, DATABASE_URL: 'mysql://localhost' };
    await expectRefusal(runInstep(['audit'], broken), 2, 'DATABASE_URL must be');
  });

  test('POSTGRES_URL is enough', async () => {
    const { environment, sql, subscribe } = await openApp('saas-starter');
    await sql(STARTER_ROW);
    subscribe('cus_1');
    const { DATABASE_URL: POSTGRES_URL = '', ...others } = environment;
    expect(await runInstep(['audit'], { ...others, POSTGRES_URL })).toMatchObject({ code: 0 });
  });

  test('if no table, or more than one, can be that of the customers', async () => {
    const app = await openApp('no tables');
    await expectRefusal(
      app.audit(),
      2,
      'is not found, because the table teams is missing: name it with --table',
    );
    await app.sql(`
      create table clubs (id serial, stripe_customer_id text, plan_name text, status text);
      create table firms (id serial, stripe_customer_id text, plan_name text, status text);
      insert into firms (stripe_customer_id, plan_name) values ('cus_1', 'pro')`);
    await expectRefusal(
      app.audit(),
      2,
      'is not found, because each of public.clubs, public.firms can be',
    );
    app.subscribe('cus_1');
    expect(await app.codes('--table', 'firms')).toEqual({});
    expect(await app.codes('--table', 'public.firms')).toEqual({});
  });

  test('if the table lacks what is needed', async () => {
    const app = await openApp('no tables');
    await app.sql(`
      create table clubs (id serial, payer text, note text, members integer);
      insert into clubs (payer) values ('cus_1');
      create table accounts (id serial, stripe_customer_id text, email text)`);
    await expectRefusal(app.audit(['--table', 'none']), 2, 'because the table none is missing');
    await expectRefusal(
      app.audit(['--table', 'clubs']),
      2,
      'because clubs.provider_customer_id (text) is missing',
    );
    const clubs = ['--table', 'clubs', '--customer', 'payer'];
    await expectRefusal(
      app.audit(clubs),
      2,
      'because public.clubs has no column that is known to hold a plan',
    );
    await expectRefusal(
      app.audit([...clubs, '--plan', 'tier']),
      2,
      'because clubs.tier (text) is missing',
    );
    await expectRefusal(app.audit(['--past-due', 'maybe']), 2, 'keep, ended');
    await expectRefusal(app.audit(['--plans', 'pro']), 2, 'must be like pro=prod_1');
  });

  test('if no row has a customer', async () => {
    const app = await openApp('saas-starter');
    await expectRefusal(app.audit(), 2, 'because public.teams has no row with a customer');
    await app.sql(
      `insert into teams (name, stripe_customer_id) values ('Acme', ''), ('Other', null)`,
    );
    await expectRefusal(app.audit(), 2, 'because public.teams has no row with a customer');
    expect(app.calls).toEqual([]);
  });
});

describe('exits with 1 and says why', () => {
  test.each([
    [
      401,
      /./,
      'STRIPE_SECRET_KEY was mistyped, rolled or revoked: set STRIPE_SECRET_KEY to a current key',
    ],
    [403, /subscriptions/, 'STRIPE_SECRET_KEY lacks permission to read subscriptions: grant it'],
    [403, /products/, 'STRIPE_SECRET_KEY lacks permission to read products: grant it'],
    [403, /./, 'STRIPE_SECRET_KEY lacks permission to read subscriptions and products: grant it'],
  ] as const)('if Stripe answers %s to %s', async (status, paths, message) => {
    const app = await openApp('saas-starter');
    await app.sql(STARTER_ROW);
    app.fault = (path) => (paths.test(path) ? { status } : undefined);
    await expectRefusal(app.audit(), 1, message, '[STRIPE_KEY_FORBIDDEN]');
  });

  test('if Stripe knows none of the customers', async () => {
    const app = await openApp('saas-starter');
    const wrongKey =
      'Stripe knows none of the customers of public.teams: STRIPE_SECRET_KEY is of another mode or account';
    await app.sql(`
      insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
      select 'x', 'cus_' || id, 'prod_pro', 'active' from generate_series(1, 3) as id`);
    app.subscribe('cus_of_another_app');
    await expectRefusal(app.audit(), 1, wrongKey, '[RECONCILIATION_FAILED]');
    // A row without a plan is asked for only then.
    await app.sql('update teams set stripe_product_id = null, subscription_status = null');
    await expectRefusal(app.audit(), 1, wrongKey);
    app.subscribe('cus_1');
    expect(await app.codes()).toEqual({ cus_1: 'missing', cus_of_another_app: 'not_in_table' });
  });

  test('after so many unknown customers, the others are not asked for', async () => {
    const app = await openApp('saas-starter');
    await app.sql(`
      insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
      select 'x', 'cus_' || id, 'prod_pro', 'active' from generate_series(1, 110) as id`);
    await expectRefusal(app.audit(), 1, 'Stripe knows none of the customers');
    expect(app.calls.filter((path) => path.includes('customer='))).toHaveLength(100);
  });

  test('if the server or Stripe can not be reached', async () => {
    const app = await openApp('saas-starter');
    await app.sql(STARTER_ROW);
    const STRIPE_API_BASE = 'http://127.0.0.1:1';
    await expectRefusal(
      app.audit([], { STRIPE_API_BASE }),
      1,
      "Stripe's API failed",
      "can't be reached",
    );
    const DATABASE_URL = 'postgres://localhost:1/none';
    await expectRefusal(
      app.audit([], { DATABASE_URL }),
      1,
      '[DATABASE_UNAVAILABLE]',
      'check that it is running',
    );
  });
});

test('of a table with customers of several accounts, each key shows its own, and says why not the others', async () => {
  const app = await openApp('saas-starter');
  const other = await openApp('no tables');
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
    values ('Acme', 'cus_1', 'prod_pro', 'active'), ('Other', 'cus_2', 'prod_pro', 'active')`);
  app.subscribe('cus_1');
  other.subscribe('cus_2');
  const { STRIPE_API_BASE = '' } = other.environment;
  for (const environment of [{}, { STRIPE_API_BASE }]) {
    const { code, stdout } = await app.audit([], environment);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^ +1 {2}customer that Stripe does not know +unknown_customer$/m);
    expect(stdout).toContain('another account or mode: audit them with their own key');
    expect(stdout).toContain('1 of 2 are right.');
  }
});

test('a large table without an index on the customer gets the statement for one', async () => {
  const app = await openApp('no tables');
  await app.sql(`
    create table clubs (id serial, stripe_customer_id text, plan_name text);
    insert into clubs (stripe_customer_id) select 'cus_' || number from generate_series(1, 10000) as number`);
  app.subscribe('cus_1', { status: 'canceled' });
  const statement = 'create index concurrently on public.clubs (stripe_customer_id);';
  expect(await app.audit()).toMatchObject({ code: 0, stderr: expect.stringContaining(statement) });
  await app.sql(statement);
  expect((await app.audit()).stderr).toBe('');
});
