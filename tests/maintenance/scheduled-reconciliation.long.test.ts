import { expect, test } from 'vitest';
import { startInstep } from '../support/process/instep-process.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

test('RECONCILE_INTERVAL reconciles all teams, and logs what was repaired', async () => {
  const account = await openAccount();
  const teamId = await account.addTeam('cus_1');
  // Otherwise the job that asks Stripe could find it first.
  await account.database.query(
    `insert into instep.asked_customers (customer_id, first_asked_at, asked_at)
     values ('cus_1', now(), now())`,
  );
  await account.happen({ customerId: 'cus_1', productId: 'prod_pro' }, 'missed');
  const server = await startInstep({ ...account.environment, RECONCILE_INTERVAL: '1h' });
  expect(await server.logged({ msg: 'drift' })).toMatchObject({
    level: 'warn',
    teamId,
    cause: 'never seen',
    isRepaired: true,
  });
  expect(await server.logged({ msg: 'reconciled' })).toMatchObject({ drifts: 1, repaired: 1 });
  expect(await account.planOf(teamId)).toMatchObject({ plan: { planName: 'Pro' } });
  expect(await server.stop()).toBe(0);
});

test('RECONCILE_INTERVAL=off asks Stripe for no subscriptions', async () => {
  const account = await openAccount();
  await account.addTeam('cus_off');
  const environment = { ...account.environment, RECONCILE_INTERVAL: 'off', LOG_LEVEL: 'debug' };
  const server = await startInstep(environment);
  await server.logged({ msg: 'caught up' });
  expect(await server.stop()).toBe(0);
  expect(account.calls.filter((path) => path.startsWith('/v1/subscriptions'))).toEqual([]);
});
