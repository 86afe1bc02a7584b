import { expect, test } from 'vitest';
import { migrate } from '../support/internals/database.ts';
import { connect, createEmptyDatabase, embeddedServer } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

test('ids and statuses in columns of the type char(n) are read without their padding', async () => {
  const database = connect(await createEmptyDatabase(embeddedServer));
  await database.query(`
    create table users (
      id integer primary key, name text, email text, password_hash text, role text,
      created_at timestamptz, updated_at timestamptz, deleted_at timestamptz
    )`);
  await database.query(`
    create table teams (
      id char(30) primary key, provider_customer_id char(255), provider_subscription_id char(255),
      provider_product_id char(255), plan_name char(50), subscription_status char(20)
    )`);
  await migrate(database);
  await database.query(`insert into teams values ('team_1', 'cus_1')`);
  const ingest = openPipeline(database);
  const [result] = await ingest([receivedEvent({ customerId: 'cus_1' })]);
  expect(result).toMatchObject({ outcome: 'applied', teamIds: ['team_1'] });
  const rows = await database.query(`
    select provider_subscription_id::text as subscription, subscription_status::text as status
      from teams`);
  expect(rows).toEqual([{ subscription: 'sub_1', status: 'active' }]);
});
