import { afterAll, expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { jsonLines, runInstep, startInstep } from '../support/process/instep-process.ts';
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

const url = await createEmptyDatabase();
const database = connect(new URL(url));
await database.query(TABLES);
const instep = await startInstep({ DATABASE_URL: url.href });
afterAll(() => instep.stop());

const post = async (body: string) => (await instep.post(body)).status;

const rowOf = async (id: number) =>
  (await database.query(`select * from teams where id = ${id}`))[0];

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
  const checks = jsonLines(stdout);
  expect(checks).toContainEqual(
    expect.objectContaining({ state: 'warning', advice: expect.stringContaining(statement) }),
  );
});
