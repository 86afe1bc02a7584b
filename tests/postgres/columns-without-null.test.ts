import { signWebhook } from 'instep/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAccess } from '../support/internals/access.ts';
import type { Database } from '../support/internals/database.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { type InstepProcess, runInstep, startInstep } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';

const TABLES = `
  create table users (
    id serial primary key, name text, email text, password_hash text, role text,
    created_at timestamptz, updated_at timestamptz, deleted_at timestamptz
  );
  create table teams (
    id serial primary key, stripe_customer_id text unique, stripe_subscription_id text,
    stripe_product_id text, plan_name varchar(50) not null default 'free', subscription_status text
  );
  insert into teams (stripe_customer_id) values ('cus_1'), ('cus_2');`;

let url: URL;
let instep: InstepProcess;
let database: Database;
beforeAll(async () => {
  url = await createEmptyDatabase();
  database = connect(new URL(url));
  await database.query(TABLES);
  instep = await startInstep({ DATABASE_URL: url.href });
});
afterAll(() => instep?.stop());

/** An event whose product is an object with a name. */
function namedBody(name: string): string {
  const event = JSON.parse(eventBody());
  event.data.object.items.data[0].plan.product = { id: 'prod_1', object: 'product', name };
  return JSON.stringify(event);
}

async function post(body: string): Promise<number> {
  const headers = { 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, Date.now()) };
  const address = `${instep.url}/api/stripe/webhook`;
  return (await fetch(address, { method: 'POST', body, headers })).status;
}

const rowOf = async (id: number) =>
  (await database.query(`select * from teams where id = ${id}`))[0];

test('a canceled team keeps the name of its plan where the column can’t be null, and loses all else', async () => {
  expect(await post(namedBody('Pro'))).toBe(200);
  expect(await rowOf(1)).toMatchObject({ plan_name: 'Pro', stripe_product_id: 'prod_1' });
  expect(await readAccess(database.query, 1)).toMatchObject({ hasAccess: true, planName: 'Pro' });

  expect(await post(eventBody({ status: 'canceled' }))).toBe(200);
  expect(await rowOf(1)).toMatchObject({
    plan_name: 'Pro',
    ...{ stripe_subscription_id: null, stripe_product_id: null, subscription_status: 'canceled' },
  });
  expect(await readAccess(database.query, 1)).toMatchObject({ hasAccess: false, planName: null });
  const { code, stdout } = await runInstep(['rebuild', '--dry-run', '--json'], {
    DATABASE_URL: url.href,
  });
  expect([code, stdout]).toEqual([0, expect.not.stringContaining('cus_1')]);
});

test('the name of a plan replaces the one that stayed, also if it is known only later', async () => {
  const granted = { customerId: 'cus_2', subscriptionId: 'sub_2', productId: 'prod_2' };
  expect(await post(eventBody(granted))).toBe(200);
  expect(await rowOf(2)).toMatchObject({ plan_name: 'free', subscription_status: 'active' });
  await database.query(`
    insert into instep.products (product_id, name, looked_up_at) values ('prod_2', 'Team', now())
        on conflict (product_id) do update set name = 'Team'`);
  await expect.poll(() => rowOf(2)).toMatchObject({ plan_name: 'Team' });
});

test('the start and the doctor warn, with the statement', async () => {
  const statement = 'alter table public.teams alter column plan_name drop not null;';
  expect(instep.lines.join()).toContain(statement);
  const { stdout } = await runInstep(['doctor', '--json'], { DATABASE_URL: url.href });
  const checks = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(checks).toContainEqual(
    expect.objectContaining({ state: 'warning', advice: expect.stringContaining(statement) }),
  );
});

test('a column of ids that can’t be null is refused at the start, with the statement', async () => {
  const own = await createEmptyDatabase();
  const other = connect(new URL(own));
  await other.query(
    `${TABLES} delete from teams; alter table teams alter stripe_product_id set not null`,
  );
  const { code, stderr } = await runInstep(['migrate'], { DATABASE_URL: own.href });
  expect(code).toBe(1);
  expect(stderr).toContain('alter table public.teams alter column stripe_product_id drop not null');
});
