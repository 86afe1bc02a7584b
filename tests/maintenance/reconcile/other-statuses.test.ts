import { expect, test } from 'vitest';
import { readAccess } from '../../support/internals/access.ts';
import { openAccount } from '../../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;

const NOW_SECONDS = Math.floor(Date.now() / 1_000);
const DAY_SECONDS = 24 * 60 * 60;

test('a comparison records the statuses that change no plan, because they count for the access', async () => {
  const dueTeam = await account.addTeam('cus_due');
  const pausedTeam = await account.addTeam('cus_paused');
  const due = { customerId: 'cus_due', subscriptionId: 'sub_due', productId: 'prod_pro' };
  const paused = { customerId: 'cus_paused', subscriptionId: 'sub_paused', productId: 'prod_pro' };
  const at = (days: number) => ({ createdSeconds: NOW_SECONDS - days * DAY_SECONDS });
  await account.happen({ ...due, status: 'past_due', ...at(100) }, 'missed');
  await account.happen({ ...paused, status: 'active', ...at(100) });
  await account.happen({ ...paused, status: 'paused', ...at(40) }, 'missed');

  await account.reconcile('--dry-run');
  expect(await readAccess(query, dueTeam)).toMatchObject({ reason: 'none' });
  await account.reconcile();
  expect(await readAccess(query, dueTeam)).toMatchObject({ hasAccess: true, reason: 'past_due' });
  expect(await readAccess(query, pausedTeam)).toMatchObject({ hasAccess: false, reason: 'paused' });
  expect((await account.planOf(pausedTeam))?.plan.subscriptionStatus).toBe('active');

  const log = 'select key from instep.events order by key';
  const before = await query(log);
  await account.reconcile();
  expect(await query(log)).toEqual(before);
});
