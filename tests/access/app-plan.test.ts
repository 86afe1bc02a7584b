import {
  type ApplicationId,
  type Difference,
  explainTeam,
  findIssues,
  type ReconciliationIssue,
  rebuildTeams,
  reconcileTeams,
} from 'instep/operate';
import { beforeEach, describe, expect, test } from 'vitest';
import { readAccess } from '../support/internals/access.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { createJobsWithoutStripe } from '../support/service/jobs-without-stripe.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openOperatedAccount, teamOf } from '../support/stripe/operated-account.ts';

const { account, context, query, operator, act, empty, newTeam, planOf, link, unlink } =
  await openOperatedAccount();

const { signal } = new AbortController();
const NOW = Math.floor(Date.now() / 1_000);
const GIFT = { ...NO_PLAN, planName: 'Partner', subscriptionStatus: 'active' };

beforeEach(async () => {
  await empty();
  account.customers.set({ id: 'cus_1' });
});

/** The application writes a plan to the row of a team. */
async function write(id: ApplicationId, plan: object = GIFT): Promise<void> {
  const { providerSubscriptionId, providerProductId, planName, subscriptionStatus } = {
    ...NO_PLAN,
    ...plan,
  };
  await query(
    `update teams
        set provider_subscription_id = $2,
            provider_product_id      = $3,
            plan_name                = $4,
            subscription_status      = $5
      where id = $1`,
    [id, providerSubscriptionId, providerProductId, planName, subscriptionStatus],
  );
}

async function teamWith(customerId: string | null, plan: object = GIFT): Promise<ApplicationId> {
  const id = await newTeam('Acme', customerId);
  await write(id, plan);
  return id;
}

/** An event of a subscription of `cus_1`, which Stripe has as well. */
async function happen(
  status: string,
  secondsLater: number,
  how: 'delivered' | 'missed' = 'delivered',
): Promise<void> {
  const fields = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
  await account.happen({ ...fields, status, createdSeconds: NOW - 1_000 + secondsLater }, how);
}

const repair = (id: ApplicationId) => act({ action: 'repair', subject: teamOf(id) });

/** Runs whatever compares teams, or repairs them. Returns what it reported. */
async function maintain(id: ApplicationId): Promise<(ReconciliationIssue | Difference)[]> {
  const found: (ReconciliationIssue | Difference)[] = [];
  const report = (one: ReconciliationIssue | Difference) => void found.push(one);
  await reconcileTeams(context, operator, { onIssue: report });
  await repair(id);
  const jobs = createJobsWithoutStripe({ database: account.database });
  await jobs.find((job) => job.name === 'empty-teams')?.run(signal);
  await rebuildTeams(context, operator, { onDifference: report });
  return found;
}

describe('a plan that the app gave away is kept, and no issue', () => {
  const histories: Record<string, () => Promise<void>> = {
    'that never had a subscription': async () => undefined,
    'whose subscription ended': async () => {
      await happen('active', 1);
      await happen('canceled', 2);
    },
    'whose subscription ended before Instep came': async () => {
      await happen('active', 1, 'missed');
      await happen('canceled', 2, 'missed');
    },
    'with a first payment that is pending': () => happen('incomplete', 1),
  };

  const plans = {
    'with a name': GIFT,
    'with a product': { ...GIFT, providerProductId: 'prod_partner' },
    'with a status only': { subscriptionStatus: 'active' },
  };

  async function expectKept(id: ApplicationId): Promise<void> {
    for (const plan of Object.values(plans)) {
      await write(id, plan);
      expect(await maintain(id)).toEqual([]);
      expect(await planOf(id)).toEqual({ ...NO_PLAN, ...plan });
      expect((await findIssues(context).page()).rows).toEqual([]);
      expect((await explainTeam(context, id))?.status).toEqual({ kind: 'app' });
      expect(await readAccess(query, id)).toMatchObject({ hasAccess: true, reason: 'app' });
    }
  }

  test.each(Object.keys(histories))('of a customer %s', async (name) => {
    const id = await teamWith('cus_1', NO_PLAN);
    await histories[name]?.();
    await expectKept(id);
  });

  test('of a team without a customer', async () => expectKept(await teamWith(null, NO_PLAN)));
});

test('an event that counts replaces it, whatever it says', async () => {
  const id = await teamWith('cus_1');
  await happen('past_due', 1);
  expect(await planOf(id)).toEqual(GIFT);
  await happen('active', 2);
  expect(await planOf(id)).toMatchObject({ providerSubscriptionId: 'sub_1', planName: 'Pro' });
  await write(id);
  await happen('canceled', 3);
  expect(await planOf(id)).toEqual({ ...NO_PLAN, subscriptionStatus: 'canceled' });
});

test('a live subscription at Stripe replaces it, although no event of it has arrived', async () => {
  const id = await teamWith('cus_1');
  await happen('active', 1, 'missed');
  await repair(id);
  expect(await planOf(id)).toMatchObject({ providerSubscriptionId: 'sub_1' });
});

test('a subscription that grants a plan makes it a plan that was written by hand', async () => {
  const id = await teamWith('cus_1', NO_PLAN);
  await happen('active', 1);
  await write(id);
  expect((await explainTeam(context, id))?.status).toMatchObject({ kind: 'changed by hand' });
  expect(await readAccess(query, id)).toMatchObject({ reason: 'active', planName: 'Pro' });
  await maintain(id);
  expect(await planOf(id)).toMatchObject({ providerSubscriptionId: 'sub_1' });
});

test('a plan that names a subscription which Stripe does not have is drift', async () => {
  const id = await teamWith('cus_1', { ...GIFT, providerSubscriptionId: 'sub_gone' });
  expect(await maintain(id)).toMatchObject([{ cause: 'no subscription', isRepaired: true }]);
  expect(await planOf(id)).toEqual(NO_PLAN);
});

describe('a link', () => {
  test('keeps it, as does the end of a link', async () => {
    const id = await teamWith(null);
    account.customers.set({ id: 'cus_2' });
    await link(teamOf(id), 'cus_1');
    await link(teamOf(id), 'cus_2', 'cus_1');
    await unlink(id, 'cus_2');
    expect(await planOf(id)).toEqual(GIFT);
  });

  test.each([null, 'cus_2'])(
    'to a customer with a plan replaces it, after %s',
    async (customerId) => {
      const former = await newTeam('Former', 'cus_1');
      await happen('active', 1);
      await unlink(former, 'cus_1');
      const id = await teamWith(customerId);
      await link(teamOf(id), 'cus_1', customerId);
      expect(await planOf(id)).toMatchObject({ providerSubscriptionId: 'sub_1' });
    },
  );

  test("takes away the plan of an event that named no subscription, which is Instep's", async () => {
    const id = await teamWith('cus_1', NO_PLAN);
    const event = JSON.parse(eventBody({ customerId: 'cus_1', productId: 'prod_pro' }));
    delete event.data.object.id;
    await account.ingest([received(JSON.stringify(event))]);
    expect(await planOf(id)).toMatchObject({ providerSubscriptionId: null, planName: 'Pro' });
    expect((await explainTeam(context, id))?.status.kind).toBe('has plan');
    await unlink(id, 'cus_1');
    expect(await planOf(id)).toEqual(NO_PLAN);
  });
});
