import { ApplicationTablesUnfit } from 'instep';
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

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    database = connect(await createEmptyDatabase(server));
    await migrate(database);
  });

  /** The problems that are found after these statements, which are rolled back. */
  async function problemsAfter(...statements: string[]): Promise<readonly string[]> {
    const error = await database
      .transaction(async (query) => {
        for (const statement of statements) await query(statement);
        applicationTablesOf(await recognizeTables(query, {}));
        throw new RangeError('nothing is wrong');
      })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof ApplicationTablesUnfit)) throw error;
    expect(error.code).toBe('APPLICATION_TABLES_UNFIT');
    for (const problem of error.problems) expect(error.message).toContain(problem);
    return error.problems;
  }

  test.each([
    ['users', 'id', 'numeric', 'integer, uuid or text'],
    ['users', 'name', 'jsonb', 'text'],
    ['users', 'deleted_at', 'boolean', 'timestamptz'],
    ['teams', 'provider_customer_id', 'bytea', 'text'],
  ])('%s.%s is reported when its type is %s', async (table, column, type, expected) => {
    expect(
      await problemsAfter(
        `alter table ${table} drop column ${column} cascade, add column ${column} ${type}`,
      ),
    ).toEqual([`${table}.${column} is ${type}, not ${expected}`]);
  });

  test("an enumeration that can't hold every status is reported", async () => {
    expect(
      await problemsAfter(
        `create type plan_status as enum ('active', 'canceled')`,
        'alter table teams alter column subscription_status type plan_status using null',
      ),
    ).toEqual([
      "teams.subscription_status can't be trialing: alter type plan_status add value 'trialing';",
    ]);
  });

  test('all problems are reported at once', async () => {
    expect(
      await problemsAfter(
        'alter table users drop column email, drop column password_hash',
        'alter table teams alter column plan_name type jsonb using null',
      ),
    ).toEqual([
      'users.email (text) is missing',
      'users.password_hash (text) is missing',
      'teams.plan_name is jsonb, not text',
    ]);
  });

  test.each([
    [['users'], ['the table users is missing']],
    [['teams'], ['the table teams is missing']],
    [
      ['users', 'teams'],
      ['the table users is missing', 'the table teams is missing'],
    ],
  ])('missing tables are reported: %s', async (tables, problems) => {
    const statements = tables.map((table) => `drop table ${table}`);
    expect(await problemsAfter(...statements)).toEqual(problems);
  });

  test('a column for two fields of a team is reported, declared or recognized', async () => {
    for (const planName of ['subscription_status', 'provider_product_id']) {
      const columns = { planName, subscriptionStatus: 'subscription_status' };
      await expect(
        recognizeTables(database.query, { teams: { columns } }).then(applicationTablesOf),
      ).rejects.toMatchObject({
        problems: expect.arrayContaining([expect.stringContaining(planName)]),
      });
    }
  });

  test('columns that a view lacks are reported', async () => {
    expect(
      await problemsAfter(
        'alter table teams rename to all_teams',
        `create view teams as
           select provider_customer_id, subscription_status from all_teams`,
      ),
    ).toEqual(['teams.id (integer, uuid or text) is missing']);
  });

  test('a table without a status, a product, a name and a price of a plan is reported', async () => {
    const names = ['subscription_status', 'provider_product_id', 'plan_name'];
    const drop = names.map((name) => `drop column ${name}`).join(', ');
    expect(await problemsAfter(`alter table teams ${drop}`)).toEqual([
      expect.stringContaining('teams has no column for a plan'),
    ]);
    await expect(problemsAfter(`alter table teams ${drop}, add price_id text`)).rejects.toThrow(
      'nothing is wrong',
    );
  });

  test.each([
    ['quantity integer', 'quantity'],
    ['price_id text', 'price_id'],
  ])('an optional column that is not null, such as %s, is reported', async (column, name) => {
    expect(await problemsAfter(`alter table teams add column ${column} not null`)).toEqual([
      expect.stringContaining(`alter table public.teams alter column ${name} drop not null;`),
    ]);
  });

  test('a field that is declared as null needs no column that fits', async () => {
    await database.query('alter table teams add column quantity integer not null');
    const columns = { quantity: null, planName: null };
    const { teams } = applicationTablesOf(
      await recognizeTables(database.query, { teams: { columns } }),
    );
    expect([...teams.plan.keys()].sort()).toEqual([
      ...['providerProductId', 'providerSubscriptionId', 'subscriptionStatus'],
    ]);
    await database.query('alter table teams drop column quantity');
  });

  test('a name that can’t be null, and that nothing else clears, is reported', async () => {
    const others = ['provider_subscription_id', 'provider_product_id', 'subscription_status'];
    const drop = others.map((name) => `drop column ${name}`).join(', ');
    expect(
      await problemsAfter(`alter table teams ${drop}, alter column plan_name set not null`),
    ).toEqual([expect.stringContaining('alter column plan_name drop not null;')]);
  });
});
