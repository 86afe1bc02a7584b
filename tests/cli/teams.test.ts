import { expect, test } from 'vitest';
import { addTeam, addUser, readTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { jsonLines, runInstep } from '../support/process/instep-process.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const { database, url } = await createDatabase();

const environment = { DATABASE_URL: url.href, STRIPE_SECRET_KEY: API_KEY };
const team = (...args: string[]) => runInstep(['team', ...args], environment);

test('adds, links and shows a team', async () => {
  const added = await team('add', '--name', 'Acme', '--json');
  expect(added).toMatchObject({ code: 0, stderr: '' });
  const acme = JSON.parse(added.stdout);
  const shown = { name: 'Acme', providerCustomerId: null, ...NO_PLAN };
  expect(acme).toEqual({ id: expect.any(Number), ...shown });
  const why = ['--reason', 'paid with another address'];
  const linked = await team('link', String(acme.id), '--customer', 'cus_acme', '--json', ...why);
  expect(JSON.parse(linked.stdout)).toEqual({ ...acme, providerCustomerId: 'cus_acme' });
  // The command knows no Stripe, and says so.
  expect(linked.stderr).toContain('linked without asking Stripe');
  expect((await team('show', String(acme.id), '--json')).stdout).toBe(linked.stdout);
  const actions = await database.query(
    'select subject, action, is_done, operator_how, note from instep.operator_actions order by acted_at',
  );
  const by = { subject: `team:${acme.id}`, is_done: true, operator_how: 'command' };
  expect(actions).toEqual([{ ...by, action: 'link', note: 'paid with another address' }]);
});

test('gives a plan without a subscription, and takes it away', async () => {
  const id = String(await addTeam(database.query, { name: 'Partner', customerId: null }));
  const unknown = await team('set-plan', id, '--plan', 'Partner');
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('PLAN_NOT_SET') });
  const given = await team('set-plan', id, '--plan', 'Partner', '--new', '--json');
  expect(given).toMatchObject({ code: 0, stderr: '' });
  const plan = { planName: 'Partner', subscriptionStatus: 'active' };
  expect(JSON.parse(given.stdout)).toMatchObject({ ...plan, providerSubscriptionId: null });
  const taken = await team('set-plan', id, '--json');
  expect(JSON.parse(taken.stdout)).toMatchObject(NO_PLAN);
});

test('unlinks a team, once', async () => {
  const id = String(await addTeam(database.query, { name: 'Gone', customerId: 'cus_gone' }));
  const { code, stdout } = await team('unlink', id, '--customer', 'cus_gone', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ providerCustomerId: null, ...NO_PLAN });
  const again = await team('unlink', id, '--customer', 'cus_gone');
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('TEAM_NOT_LINKED') });
});

test('replaces and takes away no customer but the one that is named', async () => {
  const id = String(await addTeam(database.query, { name: 'Kept', customerId: 'cus_kept' }));
  const refused = [
    ['link', '--customer', 'cus_new'],
    ['link', '--customer', 'cus_new', '--replace', 'cus_gone'],
    ['unlink', '--customer', 'cus_gone'],
  ] as const;
  for (const [command, ...options] of refused) {
    const { code, stderr } = await team(command, id, ...options);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/another customer.*cus_kept.*TEAM_NOT_LINKED/),
    });
    expect(await readTeam(database.query, Number(id))).toMatchObject({ customerId: 'cus_kept' });
  }
  const replacing = ['link', id, '--customer', 'cus_new', '--replace', 'cus_kept'];
  expect(await team(...replacing)).toMatchObject({ code: 0 });
  expect(await readTeam(database.query, Number(id))).toMatchObject({ customerId: 'cus_new' });
});

test('lists teams, and finds them by a part of the name and by the customer', async () => {
  const id = await addTeam(database.query, { name: 'Listed Ltd', customerId: 'cus_listed' });
  const found = [{ id, name: 'Listed Ltd', providerCustomerId: 'cus_listed', ...NO_PLAN }];
  for (const text of ['listed l', 'cus_listed']) {
    expect(jsonLines((await team('list', '--search', text, '--json')).stdout)).toEqual(found);
  }
  expect((await team('list', '--search', 'Listed')).stdout).toMatch(/Listed Ltd +cus_listed/);
  const none = await team('list', '--search', 'nobody has this name');
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'no teams\n' });
});

test('access prints the reason and the times', async () => {
  const id = await addTeam(database.query, { name: 'Acme', customerId: 'cus_access' });
  const fields = { customerId: 'cus_access', createdSeconds: 1_700_000_000 };
  await openPipeline(database)([receivedEvent(fields)]);
  const { code, stdout } = await team('access', String(id), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ teamId: id, hasAccess: true, reason: 'active' },
    ...{ since: '2023-11-14T22:13:20.000Z', endsAt: null },
  });
});

test.each(['show 4711', 'link 4711 --customer cus_nobody'])('%s exits with 1', async (command) => {
  expect(await team(...command.split(' '))).toEqual({
    code: 1,
    stdout: '',
    stderr: 'instep: there is no team 4711 (all: instep team list) [NOT_FOUND]\n',
  });
});

test('names a required column that only the app can fill', async () => {
  const created = await createDatabase();
  await created.database.query(`
    alter table teams add slug text not null, add currency text not null default 'usd';
    alter table users add locale text not null`);
  const add = async (...args: string[]) => {
    const { code, stderr } = await runInstep(args, { DATABASE_URL: created.url.href });
    expect(code).toBe(1);
    return stderr;
  };
  expect(await add('team', 'add', '--name', 'Acme')).toContain('"slug"');
  expect(await add('user', 'add', '--email', 'a@x.test')).toContain('"locale"');
});

const user = (...args: string[]) => runInstep(['user', ...args], environment);
const addTo = (email: string) =>
  addUser(database.query, { email, name: null, passwordHash: 'x', role: 'member' });
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test('add prints the user without the password hash', async () => {
  const args = ['--email', 'ada@example.com', '--name', 'Ada', '--password-hash', '$2b$10$hash'];
  const added = await user('add', ...args, '--json');
  expect(added).toMatchObject({ code: 0, stderr: '' });
  const ada = JSON.parse(added.stdout);
  expect(ada).toEqual({
    id: expect.any(Number),
    name: 'Ada',
    email: 'ada@example.com',
    role: 'member',
    createdAt: TIMESTAMP,
    updatedAt: TIMESTAMP,
    deletedAt: null,
  });
  const rows = await database.query('select password_hash from users where id = $1', [ada.id]);
  expect(rows).toEqual([{ password_hash: '$2b$10$hash' }]);
});

test('an e-mail address that is taken exits with 1 and one line', async () => {
  await addTo('twice@example.com');
  const { code, stdout, stderr } = await user('add', '--email', 'twice@example.com');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^instep: .*users_email_key.*\n$/);
});
