import type { ApplicationId } from 'instep/operate';
import { readTeamChanges } from 'instep-engine/postgres';
import { beforeEach, expect, test } from 'vitest';
import { readAccess } from '../support/internals/access.ts';
import { openOperatedAccount, teamOf } from '../support/stripe/operated-account.ts';

const { account, act, context, empty, query, planOf, recorded, ...operated } =
  await openOperatedAccount();

beforeEach(async () => {
  await empty();
  await query(`insert into instep.products (product_id, name) values ('prod_pro', 'Pro')
                   on conflict do nothing`);
});

const newTeam = (customerId: string | null) => operated.newTeam('Acme', customerId);

const setPlan = (teamId: ApplicationId, planName: string | null, isNewName = false) =>
  act({ action: 'set-plan', subject: teamOf(teamId), planName, isNewName }, 'our reseller');

const GIVEN = {
  planName: 'Pro',
  subscriptionStatus: 'active',
  providerSubscriptionId: null,
  providerProductId: null,
};

test('a plan that is given is access, is recorded with who and why, and no comparison takes it away', async () => {
  const teamId = await newTeam('cus_1');
  account.customers.set({ id: 'cus_1' });
  expect(await setPlan(teamId, 'Pro')).toMatchObject({
    isDone: true,
    result: { code: 'plan-set', teamId, planName: 'Pro', former: null },
  });
  expect(await planOf(teamId)).toEqual(GIVEN);
  expect(await readAccess(query, teamId)).toMatchObject({ hasAccess: true, reason: 'app' });
  const [change] = await readTeamChanges(query, { teamId });
  const [action] = await recorded();
  expect(change).toMatchObject({ cause: 'operator', operator: 'user:7', after: GIVEN });
  expect(action).toMatchObject({ action: 'set-plan', note: 'our reseller' });
  expect(action?.changes).toMatchObject([{ id: change?.id }]);
  expect((await account.reconcile()).code).toBe(0);
  expect(await planOf(teamId)).toEqual(GIVEN);
});

test('where a subscription decides, no plan is given and none is taken away', async () => {
  const teamId = await newTeam('cus_1');
  await account.happen({ customerId: 'cus_1', status: 'trialing', productId: 'prod_pro' });
  const paid = await planOf(teamId);
  for (const planName of ['Pro', null]) {
    expect(await setPlan(teamId, planName)).toMatchObject({
      isDone: false,
      result: { code: 'subscription-decides', teamId },
    });
  }
  expect(await planOf(teamId)).toEqual(paid);
});

test('a subscription that ends leaves a team that can be given a plan, and one that begins replaces it', async () => {
  const teamId = await newTeam('cus_1');
  const event = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
  await account.happen({ ...event, status: 'canceled' });
  expect(await setPlan(teamId, 'Pro')).toMatchObject({ isDone: true });
  expect(await planOf(teamId)).toEqual(GIVEN);
  await account.happen({ ...event, subscriptionId: 'sub_2', status: 'active' });
  expect(await planOf(teamId)).toMatchObject({ providerSubscriptionId: 'sub_2' });
});

test('a plan that the table refuses changes nothing, and the audit says so', async () => {
  const teamId = await newTeam(null);
  await query(`alter table teams add constraint short check (length(plan_name) < 3)`);
  try {
    expect(await setPlan(teamId, 'Pro')).toMatchObject({
      isDone: false,
      result: { code: 'failed', error: 'DATABASE_REFUSED' },
    });
    expect(await planOf(teamId)).toMatchObject({ planName: null });
  } finally {
    await query('alter table teams drop constraint short');
  }
});
