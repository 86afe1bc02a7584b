import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';

const TEAMS = `
  create table teams (
    id serial primary key, provider_customer_id text, provider_subscription_id text,
    provider_product_id text, plan_name text, subscription_status text
  );`;

async function appWith(users: string) {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await database.query(TEAMS);
  await database.query(users);
  return { database, environment: { ...SETTINGS, DATABASE_URL: url.href } };
}

const OMIT = { PROFILE_PASSWORD_HASH: 'omit' };
const STAND_INS = {
  name: null,
  role: 'member',
  createdAt: '1970-01-01T00:00:00.000Z',
  updatedAt: '1970-01-01T00:00:00.000Z',
  deletedAt: null,
};

test('a profile has the default of each column that the users lack', async () => {
  const { environment } = await appWith(
    `create table users (id serial primary key, email text not null, password_hash text)`,
  );
  expect(await runInstep(['migrate'], environment)).toMatchObject({ code: 0 });
  const added = await runInstep(
    'user add --email ada@example.com --name Ada --password-hash hash --json'.split(' '),
    environment,
  );
  expect(added).toMatchObject({ code: 0 });
  expect(JSON.parse(added.stdout)).toEqual({ id: 1, email: 'ada@example.com', ...STAND_INS });
  const instep = await startInstep(environment);
  const headers = { cookie: await sessionCookie(1) };
  expect(await (await fetch(`${instep.url}/api/user`, { headers })).json()).toEqual({
    id: 1,
    email: 'ada@example.com',
    passwordHash: 'hash',
    ...STAND_INS,
  });
  await instep.stop();
});

test('without a password in the profile, no column for it is needed', async () => {
  const { database, environment } = await appWith(
    `create table users (id serial primary key, email text, updated_at timestamptz)`,
  );
  await database.query(
    `insert into users (email, updated_at) values ('ada@example.com', '2026-01-02')`,
  );
  const refused = await runInstep(['serve'], environment);
  expect(refused.stderr).toContain('users.password_hash (text) is missing: add');
  const instep = await startInstep({ ...environment, ...OMIT });
  const headers = { cookie: await sessionCookie(1) };
  const time = '2026-01-02T00:00:00.000Z';
  expect(await (await fetch(`${instep.url}/api/user`, { headers })).json()).toEqual({
    id: 1,
    email: 'ada@example.com',
    ...STAND_INS,
    createdAt: time,
    updatedAt: time,
  });
  await instep.stop();
});
