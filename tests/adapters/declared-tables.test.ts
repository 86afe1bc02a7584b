import { createLogger, openInstep, readConfig } from 'instep';
import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';

const SECRETS = {
  STRIPE_SECRET_KEY: 'sk_test_123',
  STRIPE_WEBHOOK_SECRET: 'whsec_123',
  AUTH_SECRET: 'a secret of at least 32 characters',
};

test('openInstep uses the tables that its options declare', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await database.query(`
    create table users (
      id serial, name text, email text, password_hash text, role text, created_at timestamptz,
      updated_at timestamptz, deleted_at timestamptz
    );
    create table orgs (
      id serial, payer text, provider_subscription_id text,
      provider_product_id text, plan text, subscription_status text
    );
    -- Which of the two is meant, only the app can say.
    create table accounts (like orgs)`);
  const config = readConfig({ ...SECRETS, DATABASE_URL: url.href });
  const options = { config, logger: createLogger('silent'), maintenance: 'off' } as const;
  await expect(openInstep(options)).rejects.toMatchObject({ code: 'APPLICATION_TABLES_UNFIT' });
  const tables = {
    teams: { table: 'orgs', columns: { providerCustomerId: 'payer', planName: 'plan' } },
  };
  await (await openInstep({ ...options, tables })).close();

  const unnamed = { teams: { table: '' } };
  await expect(openInstep({ ...options, tables: unnamed })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    problems: [
      { variable: 'the option tables', problem: expect.stringMatching(/^has teams\.table/) },
    ],
  });
});
