import { expect, test } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { runInstep } from '../support/process/instep-process.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;
const instep = (...args: string[]) => runInstep(args, account.environment);

const trialOf = (customerId: string, subscriptionId: string) => ({
  ...{ customerId, subscriptionId, status: 'trialing', productId: 'prod_pro' },
  createdSeconds: Math.floor(Date.now() / 1_000),
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
});
