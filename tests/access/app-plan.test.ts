import {
  type ApplicationId,
  type Difference,
  explainTeam,
  findIssues,
  openContext,
  perform,
  type ReconciliationIssue,
  rebuildTeams,
  reconcileTeams,
} from 'instep/operate';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { readAccess } from '../support/internals/access.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { createJobsWithoutStripe } from '../support/service/jobs-without-stripe.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database } = account;
const { query } = database;
const context = await openContext({ environment: account.environment });
const operator = { name: 'user:7', how: 'application' } as const;
afterAll(() => context.close());

const { signal } = new AbortController();
const NOW = Math.floor(Date.now() / 1_000);
const NONE = {
  ...{ providerSubscriptionId: null, providerProductId: null },
  ...{ planName: null, subscriptionStatus: null },
};
const GIFT = { ...NONE, planName: 'Partner', subscriptionStatus: 'active' };

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.customers, instep.findings,
                        instep.plan_changes, instep.operator_actions cascade`);
  for (const { id } of account.subscriptions.newestFirst()) account.subscriptions.delete(id);
  account.customers.set({ id: 'cus_1' });
});

const planOf = async (id: ApplicationId) => (await readTeam(query, id))?.plan;

/** The application writes a plan to the row of a team. */
async function write(id: ApplicationId, plan: object = GIFT): Promise<void> {
  const { providerSubscriptionId, providerProductId, planName, subscriptionStatus } = {
    ...NONE,
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
  const id = await addTeam(query, { name: 'Acme', customerId });
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

async function act(action: 'repair' | 'unlink', id: ApplicationId): Promise<void> {
  const subject = { kind: 'team', id: String(id) } as const;
  const expectedCustomerId = (await readTeam(query, id))?.customerId ?? null;
  await perform(context, operator, [{ action, subject, expectedCustomerId }]);
}

/** Runs whatever compares teams, or repairs them. Returns what it reported. */
async function maintain(id: ApplicationId): Promise<(ReconciliationIssue | Difference)[]> {
  const found: (ReconciliationIssue | Difference)[] = [];
  const report = (one: ReconciliationIssue | Difference) => void found.push(one);
  await reconcileTeams(context, operator, { onIssue: report });
  await act('repair', id);
  const jobs = createJobsWithoutStripe({ database });
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
      expect(await planOf(id)).toEqual({ ...NONE, ...plan });
      expect((await findIssues(context).page()).rows).toEqual([]);
      expect((await explainTeam(context, id))?.status).toEqual({ kind: 'app' });
      expect(await readAccess(query, id)).toMatchObject({ hasAccess: true, reason: 'app' });
    }
  }

  test.each(Object.keys(histories))('of a customer %s', async (name) => {
    const id = await teamWith('cus_1', NONE);
    await histories[name]?.();
    await expectKept(id);
  });

  test('of a team without a customer', async () => expectKept(await teamWith(null, NONE)));
});

test('an event that counts replaces it, whatever it says', async () => {
  const id = await teamWith('cus_1');
  await happen('past_due', 1);
  expect(await planOf(id)).toEqual(GIFT);
  await happen('active', 2);
  expect(await planOf(id)).toMatchObject({ providerSubscriptionId: 'sub_1', planName: 'Pro' });
  await write(id);
  await happen('canceled', 3);
  expect(await planOf(id)).toEqual({ ...NONE, subscriptionStatus: 'canceled' });
});

test('a live subscription at Stripe replaces it, although no event of it has arrived', async () => {
  const id = await teamWith('cus_1');
  await happen('active', 1, 'missed');
  await act('repair', id);
  expect(await planOf(id)).toMatchObject({ providerSubscriptionId: 'sub_1' });
});

test('a subscription that grants a plan makes it a plan that was written by hand', async () => {
  const id = await teamWith('cus_1', NONE);
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
  expect(await planOf(id)).toEqual(NONE);
});

describe('a link', () => {
  const linkTo = async (id: ApplicationId, customerId: string) => {
    const subject = { kind: 'team', id: String(id) } as const;
    const expectedCustomerId = (await readTeam(query, id))?.customerId ?? null;
    const request = { action: 'link', subject, linkTo: customerId, expectedCustomerId } as const;
    await perform(context, operator, [request]);
  };

  test('keeps it, as does the end of a link', async () => {
    const id = await teamWith(null);
    await linkTo(id, 'cus_1');
    await linkTo(id, 'cus_2');
    await act('unlink', id);
    expect(await planOf(id)).toEqual(GIFT);
  });

  test.each([null, 'cus_2'])(
    'to a customer with a plan replaces it, after %s',
    async (customerId) => {
      const former = await addTeam(query, { name: 'Former', customerId: 'cus_1' });
      await happen('active', 1);
      await act('unlink', former);
      const id = await teamWith(customerId);
      await linkTo(id, 'cus_1');
      expect(await planOf(id)).toMatchObject({ providerSubscriptionId: 'sub_1' });
    },
  );

  test("takes away the plan of an event that named no subscription, which is Instep's", async () => {
    const id = await teamWith('cus_1', NONE);
    const event = JSON.parse(eventBody({ customerId: 'cus_1', productId: 'prod_pro' }));
    delete event.data.object.id;
    await account.ingest([received(JSON.stringify(event))]);
    expect(await planOf(id)).toMatchObject({ providerSubscriptionId: null, planName: 'Pro' });
    expect((await explainTeam(context, id))?.status.kind).toBe('has plan');
    await act('unlink', id);
    expect(await planOf(id)).toEqual(NONE);
  });
});
