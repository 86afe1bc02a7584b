import { linkTeam, readTeam } from 'instep-engine/postgres';
import { expect, test } from 'vitest';
import { migrate } from '../support/internals/database.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

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
