import type { Check } from 'instep/src/doctor/check.ts';
import { beforeAll, expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { freePort } from '../support/process/free-port.ts';
import { jsonLines, runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';
import { sessionCookie } from '../support/service/session-cookie.ts';
import { eventBody } from '../support/stripe/events.ts';

/** An app whose people sign in elsewhere: its users have nothing that a profile needs. */
const APP = `
  create table users (key text primary key, mail text);
  create table team_members (user_id text, team_id integer);
  create table teams (
    id serial primary key, name text, stripe_customer_id text unique, stripe_subscription_id text,
    stripe_product_id text, plan_name text, subscription_status text
  );
  insert into teams (name, stripe_customer_id) values ('Acme', 'cus_1');`;

/** No secret of sessions. */
const OFF = { ...SETTINGS, AUTH_SECRET: '', PROFILE: 'off' };

let url: URL;
let environment: Record<string, string>;
beforeAll(async () => {
  url = await createEmptyDatabase();
  environment = { ...OFF, DATABASE_URL: url.href };
  const database = connect(url);
  await database.query(APP);
});

const command = (...args: string[]) => runInstep(args, environment);

test('a profile needs what this app does not have', async () => {
  const { AUTH_SECRET } = SETTINGS;
  const on = await runInstep(['serve'], {
    ...environment,
    AUTH_SECRET: `${AUTH_SECRET}`,
    PROFILE: 'on',
  });
  expect(on.code).toBe(1);
  expect(on.stderr).toContain('APPLICATION_TABLES_UNFIT');
  const asked = await runInstep(['serve'], { ...environment, PROFILE: '' });
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('AUTH_SECRET is empty') });
  const other = await runInstep(['serve'], { ...environment, PROFILE: 'no' });
  expect(other.stderr).toContain('PROFILE must be on or off');
});

test('the server keeps the team in sync, and has no profile', async () => {
  const OPS_PORT = String(await freePort());
  const instep = await startInstep({ ...environment, OPS_PORT });
  expect((await instep.post(eventBody({ customerId: 'cus_1' }))).status).toBe(200);
  const database = connect(url);
  expect(await database.query('select subscription_status as status from teams')).toEqual([
    { status: 'active' },
  ]);
  const headers = { cookie: await sessionCookie(1) };
  for (const method of ['GET', 'HEAD', 'POST']) {
    expect((await fetch(`${instep.url}/api/user`, { method, headers })).status).toBe(404);
  }
  expect((await fetch(`${instep.url}/readyz`)).status).toBe(200);

  const page = async (path: string) =>
    await fetch(`http://127.0.0.1:${OPS_PORT}${path}`, { headers: { accept: 'text/html' } });
  while ((await page('/')).status !== 200);
  for (const path of ['/teams', '/teams/1', '/attention', '/checks']) {
    expect((await page(path)).status).toBe(200);
  }
  const found = await (await page('/search?q=ada@example.com')).text();
  expect(found).toContain('<code>PROFILE</code> is off');
  expect(await instep.stop()).toBe(0);
});

test('the doctor checks what is needed', async () => {
  const { stdout } = await command('doctor', '--json');
  const checks: Check[] = jsonLines(stdout);
  const stateOf = (name: string) => checks.find((check) => check.name === name)?.state;
  expect(['configuration', 'privileges', 'teams', 'access'].map(stateOf)).toEqual(
    Array(4).fill('ok'),
  );
  expect(checks[0]?.result).toContain('no profile');
});

test('the commands show teams only, and say what needs users', async () => {
  const tables = await command('tables', '--role', 'app');
  expect(tables).toMatchObject({ code: 0, stdout: expect.stringContaining('public.teams') });
  expect(tables.stdout).not.toContain('users');
  expect(await command('team', 'list')).toMatchObject({ code: 0 });
  expect(await command('team', 'show', '1')).toMatchObject({ code: 0 });
  for (const args of [
    ['user', 'add', '--email', 'ada@example.com'],
    ['session', 'issue', '--user', '1'],
  ]) {
    const { code, stderr } = await command(...args);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/because PROFILE is off.*\[PROFILE_OFF\]\n$/),
    });
  }
});

test('migrate --create-tables creates only teams, also beside users', async () => {
  const url = await createEmptyDatabase();
  const database = connect(url);
  await database.query('create table users (key text)');
  const created = { ...OFF, DATABASE_URL: url.href };
  expect(await runInstep(['migrate', '--create-tables'], created)).toMatchObject({ code: 0 });
  expect(
    await database.query(
      "select column_name as name from information_schema.columns where table_schema = 'public' and table_name = 'users'",
    ),
  ).toEqual([{ name: 'key' }]);
  expect(await database.query('select from teams')).toEqual([]);
});
