import { linkTeam, readTeam } from 'instep-engine/postgres';
import { expect, test } from 'vitest';
import { migrate } from '../support/internals/database.ts';
import { addTeam } from '../support/internals/rows.ts';
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

test('a table can have the name of the plan, and nothing else of it', async () => {
  const database = connect(await createEmptyDatabase());
  await database.query(
    `create table teams (id serial primary key, provider_customer_id text unique, plan_name text);
     insert into teams (provider_customer_id) values ('cus_1')`,
  );
  await database.query(
    'create table users (id serial primary key, email text, password_hash text)',
  );
  await migrate(database);
  const ingest = openPipeline(database, async () => 'Pro');
  await ingest([receivedEvent({ customerId: 'cus_1' })]);
  expect(await readTeam(database.query, 1)).toMatchObject({ plan: { planName: 'Pro' } });
  await database.transaction((query) => linkTeam(query, 1, null));
  expect(await readTeam(database.query, 1)).toMatchObject({
    customerId: null,
    plan: { planName: null },
  });
});

test('an event whose table or column a migration has renamed waits until Instep is restarted', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await migrate(database);
  const id = await addTeam(database.query, { name: 'Acme', customerId: 'cus_1' });
  const applied = [{ outcome: 'applied', teamIds: [id] }];
  let ingest = openPipeline(database);
  const granted = { customerId: 'cus_1', createdSeconds: 10 };
  expect(await ingest([receivedEvent(granted)])).toMatchObject(applied);
  for (const [createdSeconds, rename] of [
    [20, 'alter table teams rename provider_customer_id to stripe_customer_id'],
    [30, 'alter table teams rename to "Team"'],
  ] as const) {
    await database.query(rename);
    const event = receivedEvent({ ...granted, createdSeconds, priceId: `price_${createdSeconds}` });
    const refused = ingest([event]);
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE' });
    await expect(refused).rejects.toThrow('restart Instep');
    ingest = openPipeline(connect(url));
    expect(await ingest([event])).toMatchObject(applied);
  }
});
