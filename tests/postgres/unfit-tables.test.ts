import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/postgres/database.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import {
  ApplicationTablesUnfit,
  checkApplicationTables,
} from '../../src/queries/application-tables.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

const COLUMNS = {
  users: 'id name email password_hash role created_at updated_at deleted_at'.split(' '),
  teams: [
    'id',
    'provider_customer_id',
    'provider_subscription_id',
    'provider_product_id',
    'plan_name',
    'subscription_status',
  ],
};
const EVERY = Object.entries(COLUMNS).flatMap(([table, columns]) =>
  columns.map((column) => ({ table, column })),
);

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    database = connect(await createEmptyDatabase(server));
    await migrate(database);
  });
  afterAll(() => database?.close());

  /** What is said when the tables were altered so. It is undone afterwards. */
  async function complaint(...statements: string[]): Promise<string> {
    let message = '';
    const undone = database.transaction(async (query) => {
      for (const statement of statements) await query(statement);
      const error = await checkApplicationTables(query).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ApplicationTablesUnfit);
      expect(error).toMatchObject({ code: 'APPLICATION_TABLES_UNFIT' });
      message = String(error);
      throw error;
    });
    await expect(undone).rejects.toThrow(ApplicationTablesUnfit);
    return message;
  }

  test('our own tables fit', async () => {
    await checkApplicationTables(database.query);
  });

  test.each(EVERY)('$table.$column is named when it is missing', async ({ table, column }) => {
    const message = await complaint(`alter table ${table} drop column ${column} cascade`);
    expect(message).toContain(`${table}.${column} (`);
    expect(message.match(/is missing/g)).toHaveLength(1);
    expect(message).toContain('a view');
  });

  test.each([
    ['users', 'id', 'uuid'],
    ['users', 'id', 'text'],
    ['users', 'id', 'numeric'],
    ['users', 'name', 'jsonb'],
    ['users', 'created_at', 'date'],
    ['users', 'deleted_at', 'boolean'],
    ['teams', 'plan_name', 'integer'],
    ['teams', 'provider_customer_id', 'bytea'],
  ])('%s.%s is named when it is %s', async (table, column, type) => {
    const message = await complaint(
      `alter table ${table} drop column ${column} cascade, add column ${column} ${type}`,
    );
    expect(message).toContain(`${table}.${column} is ${type}, not `);
  });

  test('an enumeration cannot hold whatever status comes, and is named', async () => {
    const message = await complaint(
      `create type plan_status as enum ('active', 'canceled')`,
      'alter table teams alter column subscription_status type plan_status using null',
    );
    expect(message).toContain('teams.subscription_status is plan_status, not text');
  });

  test('everything that is wrong is said at once', async () => {
    const message = await complaint(
      'alter table users drop column role, drop column name',
      'alter table teams drop column plan_name',
    );
    for (const column of ['users.role', 'users.name', 'teams.plan_name']) {
      expect(message).toContain(column);
    }
  });

  test('a view that lacks a column is named as well', async () => {
    const message = await complaint(
      'alter table teams rename to all_teams',
      'create view teams as select id, provider_customer_id, plan_name from all_teams',
    );
    expect(message).toContain('teams.subscription_status (text) is missing');
    expect(message).not.toContain('users.');
  });
});
