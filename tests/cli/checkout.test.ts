import { createCheckoutSession } from 'instep/testing';
import { expect, test } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { untilWaiting, whileHeld } from '../support/postgres/locks.ts';
import { runInstep, spawnInstep } from '../support/process/instep-process.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;
const instep = (...args: string[]) => runInstep(args, account.environment);

const trialOf = (customerId: string, subscriptionId: string) => ({
  ...{ customerId, subscriptionId, status: 'trialing', productId: 'prod_pro' },
  createdSeconds: Math.floor(Date.now() / 1_000),
});

test('completes a checkout, prints the team, and records who did it', async () => {
  const id = await addTeam(query, { name: 'Acme', customerId: null });
  account.checkoutSessions.set(createCheckoutSession({ customerId: 'cus_1' }));
  await account.happen(trialOf('cus_1', 'sub_1'), 'missed');
  const completed = await instep('checkout', 'complete', 'cs_1', '--team', String(id), '--json');
  expect(completed).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(completed.stdout)).toMatchObject({
    ...{ id, providerCustomerId: 'cus_1', planName: 'Pro', subscriptionStatus: 'trialing' },
  });
  const actions = await query('select subject, action, operator_how from instep.operator_actions');
  expect(actions).toEqual([
    { subject: `team:${id}`, action: 'complete-checkout', operator_how: 'command' },
  ]);
});

test('a kill -9 before the event is stored leaves the team linked, and the same command then completes it', async () => {
  const id = await addTeam(query, { name: 'Acme', customerId: null });
  account.checkoutSessions.set(createCheckoutSession({ customerId: 'cus_killed' }));
  await account.happen(trialOf('cus_killed', 'sub_killed'), 'missed');
  const command = ['checkout', 'complete', 'cs_killed', '--team', String(id), '--json'];
  const lock = 'lock table instep.events in access exclusive mode';
  await whileHeld(account.database, lock, async () => {
    const killed = spawnInstep(command, account.environment);
    await untilWaiting(account.database);
    killed.process.kill('SIGKILL');
    await killed.exited;
    // PostgreSQL notices only later that its client is gone.
    await query(
      `select pg_terminate_backend(pid)
         from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
  });
  const before = `select from instep.events where customer_id = 'cus_killed'`;
  expect(await query(before)).toEqual([]);
  const linked = { customerId: 'cus_killed', plan: { subscriptionStatus: null } };
  expect(await account.planOf(id)).toMatchObject(linked);
  expect(JSON.parse((await instep(...command)).stdout)).toMatchObject({ id, planName: 'Pro' });
});

test('syncs a team with Stripe, and prints it', async () => {
  const id = await account.addTeam('cus_2');
  await account.happen(trialOf('cus_2', 'sub_2'), 'missed');
  const synced = await instep('team', 'sync', String(id), '--json');
  expect(JSON.parse(synced.stdout)).toMatchObject({ id, planName: 'Pro' });
});

test('says why nothing was done', async () => {
  const id = await addTeam(query, { name: 'Acme', customerId: null });
  const failed = async (...args: string[]) => {
    const { code, stdout, stderr } = await instep(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    return stderr;
  };
  expect(await failed('team', 'sync', String(id))).toContain('[TEAM_NOT_LINKED]');
  expect(await failed('team', 'sync', '4711')).toContain('[NOT_FOUND]');
  const unknown = await failed('checkout', 'complete', 'cs_unknown', '--team', String(id));
  expect(unknown).toContain('[CHECKOUT_NOT_COMPLETE]');
});
