import {
  findIssues,
  type Operator,
  perform,
  rebuildTeams,
  reconcileTeams,
  replayLog,
} from 'instep/operate';
import { addConsumer } from 'instep/src/changes/consumers.ts';
import { DatabaseUnavailable } from 'instep-engine/postgres';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { performForTeam } from '../support/internals/operations.ts';
import { untilWaiting, whileHeld } from '../support/postgres/locks.ts';
import { spawnInstep } from '../support/process/instep-process.ts';
import {
  customerOf,
  openOperatedAccount,
  secondsAgo,
  teamOf,
} from '../support/stripe/operated-account.ts';

const { account, context, query, newTeam, recorded, ...operated } = await openOperatedAccount();
const operator: Operator = { ...operated.operator, reason: 'asked by phone' };

let teamId: Awaited<ReturnType<typeof newTeam>>;
beforeEach(async () => {
  await operated.empty();
  teamId = await newTeam('Acme');
  await operated.deliver({ customerId: 'cus_1', productId: 'prod_pro' });
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

const customer = customerOf('cus_1');

const CALLS: Record<string, () => Promise<unknown>> = {
  link: () =>
    perform(context, operator, [
      { action: 'link', subject: customer, linkTo: `${teamId}`, expectedCustomerId: null },
    ]),
  dismiss: () => perform(context, operator, [{ action: 'dismiss', subject: customer }]),
  'complete-checkout': () => performForTeam(context, operator, { sessionId: 'cs_1', teamId }),
  sync: () => performForTeam(context, operator, { customerId: 'cus_1' }),
  reconcile: () => reconcileTeams(context, operator, { customerId: 'cus_1' }),
  replay: () => replayLog(context, operator, []),
  redact: () => perform(context, operator, [{ action: 'redact', subject: customer }]),
  rebuild: () => rebuildTeams(context, operator),
};

/** Everything that an action can change. */
async function contents() {
  const tables = ['teams', 'users', 'instep.events', 'instep.leased_jobs'];
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
  expect(await recorded()).toEqual([]);
});

test.each(Object.keys(CALLS))('%s is in the audit, with who, from where and why', async (name) => {
  await CALLS[name]?.().catch(() => undefined);
  const [one, other] = await recorded();
  expect(one).toMatchObject({ operator: 'user:7', how: 'application' });
  expect(one?.note).toBe('asked by phone');
  expect(one?.result.code).not.toBe('begun');
  expect(other).toBeUndefined();
});

const IN_ONE_TRANSACTION = ['link', 'dismiss', 'redact'];

test.each(IN_ONE_TRANSACTION)(
  '%s changes nothing if its result can not be recorded',
  async (name) => {
    const before = await contents();
    await refuseAudit('update');
    await expect(CALLS[name]?.()).rejects.toMatchObject({ code: 'DATABASE_REFUSED' });
    expect(await contents()).toEqual(before);
    expect(await recorded()).toMatchObject([{ isDone: false, result: { code: 'begun' } }]);
  },
);

test.each(IN_ONE_TRANSACTION)('%s records its result once', async (name) => {
  await query(`
    create or replace function refuse() returns trigger language plpgsql
        as $body$ begin
          if not exists (select from changed) then raise exception 'nothing to record'; end if;
          return null;
        end $body$;
    create trigger refuse after update on instep.operator_actions
       referencing new table as changed
       for each statement execute function refuse()`);
  await CALLS[name]?.();
  expect(await recorded()).toMatchObject([{ isDone: true }]);
});

test('the changes of an action that was interrupted are in the audit', async () => {
  const id = await newTeam('Linked', 'cus_1');
  await refuseAudit('update');
  const replay = { action: 'replay', subject: customer } as const;
  await expect(perform(context, operator, [replay])).rejects.toThrow();
  await query('drop trigger refuse on instep.operator_actions');
  const change = { teamId: id, before: null, after: { providerProductId: 'prod_pro' } };
  const begun = { subject: 'customer:cus_1', result: { code: 'begun' }, changes: [change] };
  expect(await recorded()).toMatchObject([begun]);
  const unlink = { action: 'unlink', subject: teamOf(id), expectedCustomerId: 'cus_1' } as const;
  await perform(context, operator, [unlink, replay]);
  expect((await recorded()).at(-1)).toMatchObject(begun);
});

test('what an action did stays in the audit if a later part of it fails', async () => {
  const broken = { ...context, settle: () => Promise.reject(new DatabaseUnavailable('gone')) };
  const linking = { linkTo: `${teamId}`, expectedCustomerId: null };
  await perform(broken, operator, [{ action: 'link', subject: customer, ...linking }]);
  expect(await recorded()).toMatchObject([
    { isDone: true, result: { code: 'linked', customerId: 'cus_1' } },
  ]);
});

test('a dismissal that has only begun hides nothing', async () => {
  const trial = { customerId: 'cus_9', status: 'trialing', productId: 'prod_pro' };
  await account.happen({ ...trial, createdSeconds: secondsAgo(0) }, 'missed');
  const missed = await newTeam('Missed', 'cus_9');
  const subject = teamOf(missed);
  const [compared] = (await perform(context, operator, [{ action: 'compare', subject }])).results;
  expect(compared?.result.code).toBe('out-of-sync');
  await refuseAudit('update');
  const dismiss = { action: 'dismiss', subject } as const;
  await expect(perform(context, operator, [dismiss])).rejects.toThrow();
  const { rows: issues } = await findIssues(context, { code: 'out-of-sync' }).page();
  expect(issues).toMatchObject([{ subject }]);
});

/** Lets results of actions wait, and kills the command and its connections when its result does. */
async function killBeforeResult(command: readonly string[]): Promise<void> {
  const { DATABASE_URL = '' } = account.environment;
  await query(`
    create or replace function refuse() returns trigger language plpgsql
        as $body$ begin perform pg_advisory_xact_lock_shared(7); return new; end $body$;
    create trigger refuse before update on instep.operator_actions
       for each row execute function refuse()`);
  await whileHeld(account.database, 'select pg_advisory_xact_lock(7)', async () => {
    const running = spawnInstep(command, { DATABASE_URL });
    await untilWaiting(account.database);
    await running.stop('SIGKILL');
    await query(`
      select pg_terminate_backend(pid)
        from pg_locks
        join pg_stat_activity using (pid)
       where not granted
         and datname = current_database()`);
  });
  await query('drop trigger refuse on instep.operator_actions');
}

test.each([
  ['link', ['team', 'link', 'ID', '--customer', 'cus_1', '--reason', 'paid']],
  ['unlink', ['team', 'unlink', 'ID', '--customer', 'cus_1', '--reason', 'wrong']],
  ['redact', ['events', 'redact', '--customer', 'cus_1', '--reason', 'asked']],
  ['remove-consumer', ['changes', '--consumer', 'mailer', '--remove']],
])('%s changes nothing if it is killed before its result is recorded', async (action, command) => {
  if (action === 'unlink') await CALLS.link?.();
  await addConsumer(query, 'mailer', 'now');
  const before = await contents();
  await killBeforeResult(command.map((one) => (one === 'ID' ? `${teamId}` : one)));
  expect(await contents()).toEqual(before);
  const [newest] = await recorded();
  expect(newest).toMatchObject({ action, isDone: false, result: { code: 'begun' }, changes: [] });
});
