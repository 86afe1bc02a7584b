import {
  act,
  compareTeam,
  exportActions,
  findActions,
  findIssues,
  type Operator,
  openContext,
  perform,
  readTeam,
} from 'instep/operate';
import { addTeam, addUser } from 'instep/src/operate/add.ts';
import { addTeam as insertTeam } from 'instep/src/postgres/statements/teams.ts';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { runInstep, spawnInstep } from '../support/process/instep-process.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;
const context = await openContext({ environment: account.environment });
const operator: Operator = { name: 'user:7', how: 'application', reason: 'asked by phone' };
afterAll(() => context.close());

let teamId: Awaited<ReturnType<typeof insertTeam>>;
beforeEach(async () => {
  await query(`truncate teams, users, instep.events, instep.subscriptions, instep.findings, instep.grants,
                        instep.operator_actions, instep.dismissed_events, instep.plan_changes cascade`);
  account.fault = undefined;
  teamId = await insertTeam(query, { name: 'Acme', customerId: null });
  const body = eventBody({ customerId: 'cus_1', productId: 'prod_pro' });
  await account.ingest([received(body, Date.now())]);
});
afterEach(() => query('drop trigger if exists refuse on instep.operator_actions'));

/** Lets the database refuse to store the audit: `insert` before an action, `update` after it. */
async function refuseAudit(when: 'insert' | 'update'): Promise<void> {
  await query(`
    create or replace function refuse() returns trigger language plpgsql
        as $body$ begin raise exception 'the audit is full'; end $body$;
    create trigger refuse before ${when} on instep.operator_actions
       for each row execute function refuse()`);
}

const customer = { kind: 'customer', id: 'cus_1' } as const;

const CALLS: Record<string, () => Promise<unknown>> = {
  link: () => act(context, operator, [{ action: 'link', subject: customer, linkTo: `${teamId}` }]),
  dismiss: () => act(context, operator, [{ action: 'dismiss', subject: customer }]),
  grant: () =>
    perform(context, operator, { action: 'grant', teamId, planName: 'Pro', reason: 'partner' }),
  'revoke-grant': () => perform(context, operator, { action: 'revoke-grant', teamId }),
  'complete checkout': () =>
    perform(context, operator, { action: 'complete checkout', sessionId: 'cs_1', teamId }),
  sync: () => perform(context, operator, { action: 'sync', customerId: 'cus_1' }),
  reconcile: () => perform(context, operator, { action: 'reconcile', customerId: 'cus_1' }),
  replay: () => perform(context, operator, { action: 'replay', events: [] }),
  redact: () => perform(context, operator, { action: 'redact', customerId: 'cus_1' }),
  prune: () =>
    perform(context, operator, { action: 'prune', receivedBeforeMs: Date.now() + 60_000 }),
  'dismiss parked': () => perform(context, operator, { action: 'dismiss', customerId: 'cus_1' }),
  rebuild: () => perform(context, operator, { action: 'rebuild' }),
  'remove a consumer': () =>
    perform(context, operator, { action: 'remove-consumer', consumer: 'mailer' }),
  'replay a change': () =>
    perform(context, operator, { action: 'replay-change', consumer: 'mailer', changeId: 1 }),
  'add a team': () => addTeam(context, operator, { name: 'New', customerId: 'cus_1' }),
  'add a user': () => {
    const user = { email: 'ada@example.com', name: null, role: 'member', passwordHash: '!' };
    return addUser(context, operator, user);
  },
};

/** Everything that an action can change. */
async function contents() {
  const tables = ['teams', 'users', 'instep.events', 'instep.grants', 'instep.dismissed_events'];
  return await Promise.all(tables.map((table) => query(`select * from ${table} order by 1`)));
}

test.each(Object.keys(CALLS))('%s changes nothing if the audit can not have it', async (name) => {
  const before = await contents();
  let calls = 0;
  account.fault = () => {
    calls += 1;
    return undefined;
  };
  await refuseAudit('insert');
  await expect(CALLS[name]?.()).rejects.toMatchObject({ code: 'DATABASE_REFUSED' });
  expect(await contents()).toEqual(before);
  expect(calls).toBe(0);
  expect(await findActions(context)).toEqual([]);
});

test.each(Object.keys(CALLS))('%s is in the audit, with who, from where and why', async (name) => {
  await CALLS[name]?.().catch(() => undefined);
  const [one, other] = await collect(exportActions(context));
  expect(one).toMatchObject({ operator: 'user:7', how: 'application' });
  expect(one?.note).toBe(name === 'grant' ? 'partner' : 'asked by phone');
  expect(one?.result.code).not.toBe('begun');
  expect(other).toBeUndefined();
});

test('an action whose result is not recorded has begun in the audit', async () => {
  await refuseAudit('update');
  const link = { action: 'link', subject: customer, linkTo: `${teamId}` } as const;
  await expect(act(context, operator, [link])).rejects.toMatchObject({ code: 'DATABASE_REFUSED' });
  expect((await readTeam(context, teamId))?.plan.subscriptionStatus).toBe('active');
  expect(await findActions(context)).toMatchObject([
    { action: 'link', subject: 'customer:cus_1', isDone: false, result: { code: 'begun' } },
  ]);
});

test('a dismissal that has only begun hides nothing', async () => {
  const createdSeconds = Math.floor(Date.now() / 1_000);
  const trial = { customerId: 'cus_9', status: 'trialing', productId: 'prod_pro' };
  await account.happen({ ...trial, createdSeconds }, 'missed');
  const missed = await insertTeam(query, { name: 'Missed', customerId: 'cus_9' });
  expect((await compareTeam(context, missed)).code).toBe('out-of-sync');
  await refuseAudit('update');
  const subject = { kind: 'team', id: `${missed}` } as const;
  await expect(act(context, operator, [{ action: 'dismiss', subject }])).rejects.toThrow();
  const { issues } = await findIssues(context, { code: 'out-of-sync' });
  expect(issues).toMatchObject([{ subject }]);
});

test('a command that is killed has begun in the audit', async () => {
  const { DATABASE_URL = '' } = account.environment;
  const command = ['team', 'grant', `${teamId}`, '--plan', 'Pro', '--reason', 'partner'];
  await account.database.transaction(async (query) => {
    await query('select from teams for update');
    const granting = spawnInstep(command, { DATABASE_URL });
    await expect.poll(() => findActions(context), { timeout: 15_000 }).toHaveLength(1);
    await granting.stop('SIGKILL');
  });
  expect(await findActions(context)).toMatchObject([
    { action: 'grant', how: 'command', note: 'partner', isDone: false, result: { code: 'begun' } },
  ]);
});

test('teams and users that commands add are in the audit', async () => {
  const { DATABASE_URL = '' } = account.environment;
  const environment = { DATABASE_URL };
  const why = ['--reason', 'a test'];
  const added = await runInstep(['team', 'add', '--name', 'New', '--json', ...why], environment);
  const user = await runInstep(['user', 'add', '--email', 'a@b.c', '--json', ...why], environment);
  const common = { action: 'add', how: 'command', note: 'a test', isDone: true };
  expect(await findActions(context)).toMatchObject([
    { ...common, subject: `user:${JSON.parse(user.stdout).id}`, result: { code: 'added' } },
    { ...common, subject: `team:${JSON.parse(added.stdout).id}`, result: { code: 'added' } },
  ]);
});
