import { findChangedTeams } from 'instep/src/maintenance/changed-teams.ts';
import type { ReconciliationIssue } from 'instep/src/maintenance/reconcile/drift.ts';
import { reconcileCustomer } from 'instep/src/maintenance/reconcile/reconcile.ts';
import { readStoredIssues } from 'instep/src/postgres/statements/issues.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { createStripeApi } from 'instep/src/stripe/api.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest } = account;
const { query } = database;
const { signal } = new AbortController();

/** Runs the job from where the last run ended. */
function openJob(clockMs: () => number) {
  let progress: object | null = null;
  const complete = async (saved: object) => {
    progress = saved;
  };
  return () =>
    findChangedTeams({ progress, complete }, { query, planSelection: 'newest', clockMs });
}

const runJob = openJob(() => performance.now());

const open = () => readStoredIssues(query, { causes: null, afterCustomerId: '', limit: 10 });

const services = {
  database,
  ingest,
  api: createStripeApi({
    secretKey: API_KEY,
    baseUrl: new URL(account.environment.STRIPE_API_BASE ?? ''),
  }),
  nameOf: async () => 'Pro',
  planSelection: 'newest',
  logger: createLogger('silent'),
  now: Date.now,
  nonce: () => String(Math.random()),
  onIssue: () => undefined,
} as const;

const change = (columns: string, teamId: unknown) =>
  query(`update teams set ${columns} where id = $1`, [teamId]);

beforeEach(async () => {
  await query('truncate teams, instep.subscriptions, instep.events, instep.findings');
});

const EMPTY = `provider_subscription_id = null, provider_product_id = null, plan_name = null,
  subscription_status = null`;

/** A team that follows its only subscription. */
async function arrange(customerId = 'cus_1') {
  const teamId = await account.addTeam(customerId);
  const subscriptionId = `sub_${customerId}`;
  const createdSeconds = Math.floor(Date.now() / 1_000) - 60;
  await account.happen({ customerId, subscriptionId, createdSeconds, productId: 'prod_pro' });
  return teamId;
}

describe('a row that was changed by hand', () => {
  test('is found without asking Stripe', async () => {
    const teamId = await arrange();
    await runJob();
    expect(await open()).toEqual([]);
    await change("subscription_status = 'trialing'", teamId);
    account.calls.length = 0;
    await runJob();
    expect(await open()).toEqual([
      {
        cause: 'changed by hand',
        customerId: 'cus_1',
        teamId,
        plan: expect.objectContaining({ subscriptionStatus: 'trialing', planName: 'Pro' }),
        shouldBe: expect.objectContaining({ subscriptionStatus: 'active', planName: 'Pro' }),
        beganSeconds: null,
        refusedBy: null,
        sinceMs: expect.any(Number),
      },
    ]);
    expect(account.calls).toEqual([]);
  });

  test('is found once, with the time of the first issue', async () => {
    const teamId = await arrange();
    await change('provider_product_id = null', teamId);
    await runJob();
    const [first] = await open();
    await runJob();
    expect(await open()).toEqual([first]);
  });

  test('is no longer found after it was changed back, or repaired', async () => {
    const teamId = await arrange();
    await change("subscription_status = 'trialing'", teamId);
    await runJob();
    await change("subscription_status = 'active'", teamId);
    expect(await open()).toEqual([]);
    await change("subscription_status = 'trialing'", teamId);
    await runJob();
    expect(await open()).toHaveLength(1);
    await reconcileCustomer('cus_1', { ...services, isDryRun: false }, signal);
    expect(await open()).toEqual([]);
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('active');
  });

  test('is no longer found once an event says the same', async () => {
    const teamId = await arrange();
    await change("subscription_status = 'trialing'", teamId);
    await runJob();
    const [customerId, subscriptionId, productId] = ['cus_1', 'sub_cus_1', 'prod_pro'];
    const createdSeconds = Math.floor(Date.now() / 1_000);
    const trial = { customerId, subscriptionId, productId, createdSeconds, status: 'trialing' };
    await account.happen(trial);
    await runJob();
    expect(await open()).toEqual([]);
  });
});

test.each([true, false])(
  'another name is found once all teams of the product have its name: %s',
  async (isApplied) => {
    const teamId = await arrange();
    await query(
      `update instep.products set name = 'Pro', is_applied = $1 where product_id = 'prod_pro'`,
      [isApplied],
    );
    await change("plan_name = 'Professional'", teamId);
    await runJob();
    const cause = 'another plan name';
    expect(await open()).toMatchObject(isApplied ? [{ cause }] : []);
    const issues: ReconciliationIssue[] = [];
    const onIssue = (issue: ReconciliationIssue) => void issues.push(issue);
    await reconcileCustomer('cus_1', { ...services, isDryRun: true, onIssue }, signal);
    expect(issues).toMatchObject([{ cause }]);
    expect(await open()).toMatchObject([{ cause }]);
  },
);

test.each([
  ['has a subscription without any event', "provider_subscription_id = 'sub_of_checkout'"],
  ['is empty, so that maintenance fills it', EMPTY],
])('a row that %s is not found', async (_, columns) => {
  await change(columns, await arrange());
  await runJob();
  expect(await open()).toEqual([]);
});

test('one run goes through all pages of teams, and the next one begins again', async () => {
  await query(
    `insert into teams (name, provider_customer_id) select 'Team', 'cus_' || number
       from generate_series(1, 1200) as number`,
  );
  const teamId = await arrange('cus_last');
  await change("subscription_status = 'trialing'", teamId);
  const patient = openJob(() => 0);
  for (let run = 0; run < 2; run += 1) {
    await query('truncate instep.findings');
    await patient();
    expect(await open()).toHaveLength(1);
  }
});

test('a run that is out of time is continued by the next one', async () => {
  await query(
    `insert into teams (name, provider_customer_id) select 'Team', 'cus_' || number
       from generate_series(1, 600) as number`,
  );
  const teamId = await arrange('cus_last');
  await change("subscription_status = 'trialing'", teamId);
  let nowMs = 0;
  const hurried = openJob(() => (nowMs += 1_000));
  const counts: number[] = [];
  for (let run = 0; run < 2; run += 1) {
    await hurried();
    counts.push((await open()).length);
  }
  expect(counts).toEqual([0, 1]);
});
