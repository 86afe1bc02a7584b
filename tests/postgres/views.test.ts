import { beforeAll, describe, expect, test } from 'vitest';
import {
  applicationTablesOf,
  type Database,
  migrate,
  recognizeTables,
} from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';
import { schemaSql } from '../support/schemas/schemas.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

/** The view that shows the teams of nextjs/saas-starter to Instep. */
const VIEW = `
  create schema for_instep;
  create view for_instep.teams as
    select id,
           stripe_customer_id     as provider_customer_id,
           stripe_subscription_id as provider_subscription_id,
           stripe_product_id      as provider_product_id,
           plan_name,
           subscription_status
      from public.teams;
  insert into users (email, password_hash, created_at) values ('ada@example.com', 'x', '2024-02-29');
  insert into public.teams (name, stripe_customer_id) values ('Acme', 'cus_1'), ('Other', 'cus_2');`;

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    const url = await createEmptyDatabase(server);
    url.searchParams.set('options', '-c search_path=for_instep,public');
    database = connect(url);
    await database.query(`${schemaSql('saas-starter')}${VIEW}`);
  });

  const starterTeams = () =>
    database.query(
      `select stripe_subscription_id, stripe_product_id, plan_name, subscription_status
         from public.teams
        order by id`,
    );
  const untouched = {
    stripe_subscription_id: null,
    stripe_product_id: null,
    plan_name: null,
    subscription_status: null,
  };

  test('a view replaces a table, and no table is created in its place', async () => {
    await migrate(database);
    applicationTablesOf(await recognizeTables(database.query, {}));
    const tables = await database.query<{ name: string }>(
      `select format('%s.%s', table_schema, table_name) as name
         from information_schema.tables
        where table_name in ('users', 'teams')
        order by name`,
    );
    expect(tables.map(({ name }) => name)).toEqual([
      'for_instep.teams',
      'public.teams',
      'public.users',
    ]);
  });

  test('events change the team through the view: grant, duplicate, older event, end', async () => {
    const ingest = openPipeline(database, async () => 'Pro');
    const active = receivedEvent({ customerId: 'cus_1', createdSeconds: 20 });
    const teamIds = [1];
    expect(await ingest([active])).toMatchObject([{ outcome: 'applied', teamIds }]);
    const granted = {
      stripe_subscription_id: 'sub_1',
      stripe_product_id: 'prod_1',
      plan_name: 'Pro',
      subscription_status: 'active',
    };
    expect(await starterTeams()).toEqual([granted, untouched]);

    const older = receivedEvent({ customerId: 'cus_1', createdSeconds: 10, status: 'unpaid' });
    expect(await ingest([active, older])).toMatchObject([
      { outcome: 'duplicate', teamIds },
      { outcome: 'stale', teamIds },
    ]);
    expect(await starterTeams()).toEqual([granted, untouched]);

    await ingest([receivedEvent({ customerId: 'cus_1', createdSeconds: 30, status: 'canceled' })]);
    const ended = { ...untouched, subscription_status: 'canceled' };
    expect(await starterTeams()).toEqual([ended, untouched]);
  });
});
