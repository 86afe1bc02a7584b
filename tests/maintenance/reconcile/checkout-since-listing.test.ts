import type { ApplicationId } from 'instep';
import type { ReconciliationIssue } from 'instep/operate';
import { beforeEach, expect, test } from 'vitest';
import { reconcile } from '../../support/internals/repair.ts';
import type { StripeApi } from '../../support/internals/stripe.ts';
import { openAccount } from '../../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, services } = account;

/** Reconciles all teams; `afterListing` runs between the complete list and the comparison. */
async function reconcileAll(afterListing: () => Promise<void>): Promise<ReconciliationIssue[]> {
  const issues: ReconciliationIssue[] = [];
  const listSubscriptions: StripeApi['listSubscriptions'] = async (from, signal) => {
    const page = await services.api.listSubscriptions(from, signal);
    if (from.customerId === undefined) await afterListing();
    return page;
  };
  await reconcile(
    {
      ...services,
      api: { ...services.api, listSubscriptions },
      isDryRun: false,
      onIssue: (issue) => issues.push(issue),
    },
    new AbortController().signal,
  );
  return issues;
}

const CHECKOUT = {
  providerSubscriptionId: 'sub_new',
  providerProductId: 'prod_pro',
  planName: 'Pro',
  subscriptionStatus: 'trialing',
};

/** Stripe creates a subscription, and the application writes its plan. No event announces it. */
async function checkOut(customerId: string, teamId: ApplicationId): Promise<void> {
  const trial = { subscriptionId: 'sub_new', status: 'trialing', productId: 'prod_pro' };
  await account.happen({ customerId, ...trial }, 'missed');
  await database.query(
    `update teams
        set provider_subscription_id = 'sub_new', provider_product_id = 'prod_pro',
            plan_name = 'Pro', subscription_status = 'trialing'
      where id = $1`,
    [teamId],
  );
}

beforeEach(async () => {
  await database.query('truncate teams, instep.customers, instep.events');
  for (const subscriptionId of ['sub_old', 'sub_new']) account.subscriptions.delete(subscriptionId);
});

test.each(['delivered', 'missed'] as const)(
  'a checkout since the listing keeps its plan if the end of the former subscription was %s',
  async (how) => {
    const customerId = `cus_${how}`;
    const teamId = await account.addTeam(customerId);
    const former = { customerId, subscriptionId: 'sub_old', createdSeconds: 1_000 };
    await account.happen({ ...former, status: 'active' });
    await account.happen({ ...former, status: 'canceled', createdSeconds: 2_000 }, how);
    const issues = await reconcileAll(() => checkOut(customerId, teamId));
    expect(await account.planOf(teamId)).toMatchObject({ plan: CHECKOUT });
    expect(issues.filter(({ kind }) => kind === 'drift')).toEqual([]);
  },
);
