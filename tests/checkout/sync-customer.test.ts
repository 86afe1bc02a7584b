import { createHandler, createLogger } from 'instep';
import { syncCustomer } from 'instep/src/checkout/checkout.ts';
import { DeadlineExceeded } from 'instep-engine/runtime';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { SETTINGS } from '../support/process/instep-process.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;
const handler = createHandler({
  environment: { ...SETTINGS, ...account.environment },
  logger: createLogger('silent'),
  maintenance: 'off',
});
afterAll(() => handler.close());

beforeEach(account.empty);

const nowSeconds = () => Math.floor(Date.now() / 1_000);

const codeOf = async (call: Promise<unknown>) =>
  await call.then(
    () => 'done',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );

const trial = { customerId: 'cus_1', status: 'trialing', productId: 'prod_pro' };

test('a team gets the plan of a subscription without events, and then nothing changes', async () => {
  const teamId = await account.addTeam('cus_1');
  await account.happen({ ...trial, createdSeconds: nowSeconds() - 60 }, 'missed');
  const access = await handler.syncCustomer('cus_1');
  expect(access).toMatchObject({ teamId, hasAccess: true, reason: 'trialing', planName: 'Pro' });
  expect(await account.planOf(teamId)).toMatchObject({
    plan: { planName: 'Pro', subscriptionStatus: 'trialing' },
  });
  const log = 'select key, outcome from instep.events';
  const before = await query(log);
  expect(before).toHaveLength(1);
  expect(await handler.syncCustomer('cus_1')).toEqual(access);
  expect(await query(log)).toEqual(before);
});

test('the newest of several subscriptions decides, and missed ends count', async () => {
  await account.addTeam('cus_1');
  const old = { ...trial, subscriptionId: 'sub_old', productId: 'prod_base' };
  await account.happen({ ...old, status: 'active', createdSeconds: nowSeconds() - 900 });
  await account.happen(
    { ...old, status: 'canceled', createdSeconds: nowSeconds() - 300 },
    'missed',
  );
  expect(await handler.syncCustomer('cus_1')).toMatchObject({ reason: 'canceled' });
  await account.happen({ ...trial, createdSeconds: nowSeconds() - 60 }, 'missed');
  expect(await handler.syncCustomer('cus_1')).toMatchObject({
    planName: 'Pro',
    reason: 'trialing',
  });
});

test('a missed status that changes no plan counts for the access, and the plan stays', async () => {
  const teamId = await account.addTeam('cus_1');
  await account.happen({ ...trial, status: 'active', createdSeconds: nowSeconds() - 900 });
  await account.happen(
    { ...trial, status: 'past_due', createdSeconds: nowSeconds() - 60 },
    'missed',
  );
  const access = await handler.syncCustomer('cus_1');
  expect(access).toMatchObject({ hasAccess: true, reason: 'past_due', status: 'past_due' });
  expect(await account.planOf(teamId)).toMatchObject({ plan: { subscriptionStatus: 'active' } });
  const log = 'select key, outcome from instep.events';
  const before = await query(log);
  expect(await handler.syncCustomer('cus_1')).toEqual(access);
  expect(await query(log)).toEqual(before);
});

test('a plan that the application wrote stays when Stripe has no subscription', async () => {
  const teamId = await account.addTeam('cus_1');
  account.customers.set({ id: 'cus_1' });
  await query(`update teams set plan_name = 'Gift', subscription_status = 'active'`);
  await handler.syncCustomer('cus_1');
  expect(await account.planOf(teamId)).toMatchObject({ plan: { planName: 'Gift' } });
});

test('a customer can be synced only if a team has it and Stripe knows it', async () => {
  await account.addTeam('cus_gone');
  expect(await codeOf(handler.syncCustomer('cus_gone'))).toBe('CUSTOMER_UNKNOWN');
  expect(await codeOf(handler.syncCustomer('cus_strange'))).toBe('CUSTOMER_WITHOUT_TEAM');
  expect(await codeOf(handler.syncCustomer('\0'))).toBe('CUSTOMER_WITHOUT_TEAM');
  account.fault = () => ({ status: 503 });
  expect(await codeOf(handler.syncCustomer('cus_gone'))).toBe('STRIPE_UNAVAILABLE');
});

test('Stripe is not blamed for a database that is slow', async () => {
  await account.addTeam('cus_1');
  await account.happen({ ...trial, createdSeconds: nowSeconds() - 60 }, 'missed');
  const context = await handler.operateContext();
  const ingest = async () => {
    throw new DeadlineExceeded(1);
  };
  expect(await codeOf(syncCustomer({ ...context, ingest }, 'cus_1'))).toBe('DEADLINE_EXCEEDED');
  account.fault = () => ({ status: 401 });
  expect(await codeOf(syncCustomer(context, 'cus_1'))).toBe('STRIPE_UNAVAILABLE');
  const requested = 'select customer_id from instep.asked_customers where asked_at is null';
  expect(await query(requested)).toEqual([{ customer_id: 'cus_1' }]);
});
