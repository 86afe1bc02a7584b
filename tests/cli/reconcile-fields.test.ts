import { expect, test } from 'vitest';
import { openAccount } from '../support/stripe/reconciled-account.ts';

test('a comparison finds and repairs what a missed event has changed in the columns that the table has', async () => {
  const account = await openAccount();
  await account.database.query(`
    alter table teams
      add column seats smallint,
      add column current_period_end integer,
      add column cancel_at_period_end boolean not null default false`);
  const tables = { INSTEP_TABLES: '{"teams": {"columns": {"quantity": "seats"}}}' };
  const teamId = await account.addTeam('cus_1');
  const sent = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
  await account.happen({ ...sent, currentPeriodEndSeconds: 1_800_000_000 });
  expect((await account.planOf(teamId))?.plan).toMatchObject({ cancelAtPeriodEnd: false });
  const renewed = { ...sent, quantity: 5, cancelAtPeriodEnd: true };
  await account.happen({ ...renewed, currentPeriodEndSeconds: 1_900_000_000 }, 'missed');

  const compare = (...args: string[]) => account.reconcile(...args);
  Object.assign(account.environment, tables);
  const [found] = (await compare('--dry-run')).lines;
  expect(found).toContain('cancelAtPeriodEnd false → true');
  expect(found).toContain('quantity - → 5');
  expect(await compare()).toMatchObject({ code: 0 });
  const [row] = await account.database.query(
    'select seats, current_period_end, cancel_at_period_end, subscription_status from teams',
  );
  expect(row).toEqual({
    ...{ seats: 5, current_period_end: 1_900_000_000 },
    ...{ cancel_at_period_end: true, subscription_status: 'active' },
  });
  expect((await compare('--dry-run')).lines.join()).not.toContain('cus_1');
});
