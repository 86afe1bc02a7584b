import {
  checkHealth,
  explainTeam,
  findIssues,
  ISSUES,
  openContext,
  perform,
  reconcileTeams,
  type Subject,
} from 'instep/operate';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { reportOtherPolicy, storePolicy } from '../support/internals/access.ts';
import { addTeam } from '../support/internals/rows.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;
const context = await openContext({ environment: account.environment });
const operator = { name: 'user:7', how: 'application' } as const;
afterAll(() => context.close());

const HOUR_MS = 3_600_000;
const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1_000) - seconds;

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.customers, instep.findings,
                        instep.products, instep.operator_actions`);
  for (const { id } of account.subscriptions.newestFirst()) account.subscriptions.delete(id);
  for (const { id } of account.customers.newestFirst()) account.customers.delete(id);
});

const codes = async () => {
  const { issues } = await checkHealth(context);
  return issues.flatMap(({ code }) => (code === 'teams-not-compared' ? [] : [code]));
};

const dismiss = (subject: Subject, reason = '') =>
  perform(context, { ...operator, reason }, [{ action: 'dismiss', subject }]);
const restore = (subject: Subject) => perform(context, operator, [{ action: 'restore', subject }]);

/** Delivers an event, which is parked unless a team has the customer. */
async function deliver(fields: Parameters<typeof eventBody>[0], receivedAtMs = Date.now()) {
  await account.ingest([received(eventBody(fields), receivedAtMs)]);
}

test('nothing is wrong at first, and nothing was compared', async () => {
  expect(await checkHealth(context)).toMatchObject({ issues: [], reconciled: null });
  expect(await findIssues(context).first()).toEqual({ issues: [], isMore: false });
});

test('an event that something has made unreadable since hides no issue', async () => {
  await deliver({ customerId: 'cus_1' });
  await deliver({ customerId: 'cus_2' });
  await query(
    `update instep.events set body = 'not JSON', deliveries = 1 where customer_id = 'cus_1'`,
  );
  expect(await codes()).toEqual(['parked-events']);
});

test('parked events are a notice at first, and a warning after ten minutes', async () => {
  await deliver({ customerId: 'cus_1' });
  const [notice] = (await checkHealth(context)).issues;
  expect(notice).toMatchObject({ code: 'parked-events', severity: 'notice', count: 1 });
  const sinceMs = Date.now() - HOUR_MS;
  await deliver({ customerId: 'cus_2' }, sinceMs);
  const [warning] = (await checkHealth(context)).issues;
  expect(warning).toMatchObject({
    code: 'parked-events',
    severity: 'warning',
    count: 2,
    isMore: false,
    evidence: { sinceMs },
  });
  expect((await findIssues(context).first()).issues).toMatchObject([
    {
      code: 'parked-events',
      subject: { kind: 'customer', id: 'cus_1' },
      remedies: ['link', 'replay', 'dismiss'],
      evidence: { events: 1, newest: { outcome: 'parked' } },
      team: null,
    },
    { subject: { kind: 'customer', id: 'cus_2' }, sinceMs },
  ]);
});

test('a comparison finds teams and customers, each with the cause', async () => {
  const [late, unknown] = [
    await addTeam(query, { name: 'Late', customerId: 'cus_1' }),
    await addTeam(query, { name: 'Unknown', customerId: 'cus_2' }),
  ];
  const productId = 'prod_pro';
  const fields = { subscriptionId: 'sub_1', productId, createdSeconds: secondsAgo(600) };
  await account.happen({ ...fields, customerId: 'cus_1' }, 'missed');
  await account.happen({ ...fields, customerId: 'cus_3', subscriptionId: 'sub_3' }, 'missed');
  await reconcileTeams(context, operator, { isDryRun: true });

  expect(await codes()).toEqual(['out-of-sync', 'customer-without-team', 'unknown-customer']);
  const { issues } = await findIssues(context).first();
  expect(issues).toMatchObject([
    {
      code: 'out-of-sync',
      severity: 'failure',
      subject: { kind: 'team', id: String(late) },
      team: { name: 'Late' },
      evidence: {
        cause: 'never seen',
        is: { subscriptionStatus: null },
        shouldBe: { subscriptionStatus: 'active' },
      },
    },
    { code: 'customer-without-team', subject: { kind: 'customer', id: 'cus_3' }, team: null },
    { code: 'unknown-customer', subject: { kind: 'team', id: String(unknown) } },
  ]);
  expect((await explainTeam(context, late))?.issues).toEqual(issues.slice(0, 1));

  expect(await findIssues(context).first(1)).toEqual({ issues: issues.slice(0, 1), isMore: true });
  expect(await collect(findIssues(context).all())).toEqual(issues);
  expect(await collect(findIssues(context, 'unknown-customer').all())).toEqual([issues[2]]);
});

describe('a customer with a live subscription whose team is taken away', () => {
  const customer = { kind: 'customer', id: 'cus_1' } as const;
  const unlink = async (teamId: string) => {
    const subject = { kind: 'team', id: teamId } as const;
    await perform(context, operator, [
      { action: 'unlink', subject, expectedCustomerId: customer.id },
    ]);
  };
  const arrange = async (status: string) => {
    const teamId = String(await addTeam(query, { name: 'Acme', customerId: customer.id }));
    await deliver({ customerId: customer.id, status });
    return teamId;
  };

  test('is an issue at once, until it has a team again', async () => {
    const teamId = await arrange('active');
    expect(await codes()).toEqual([]);
    await unlink(teamId);
    expect(await codes()).toEqual(['customer-without-team']);
    expect((await findIssues(context).first()).issues).toMatchObject([
      {
        code: 'customer-without-team',
        subject: customer,
        team: null,
        remedies: ['link', 'dismiss'],
      },
    ]);
    const subject = { kind: 'team', id: teamId } as const;
    const linking = {
      action: 'link',
      subject,
      linkTo: customer.id,
      expectedCustomerId: null,
    } as const;
    await perform(context, operator, [linking]);
    expect(await codes()).toEqual([]);
  });

  test('is an issue also if it was dismissed when it waited for its first team', async () => {
    await deliver({ customerId: customer.id });
    await dismiss(customer);
    const teamId = String(await addTeam(query, { name: 'Acme', customerId: customer.id }));
    await account.settle(customer.id);
    await unlink(teamId);
    expect(await codes()).toEqual(['customer-without-team']);
    await dismiss(customer);
    expect(await codes()).toEqual([]);
  });

  test('is an issue also if the team gets another customer', async () => {
    const teamId = await arrange('trialing');
    account.customers.set({ id: 'cus_2' });
    const subject = { kind: 'team', id: teamId } as const;
    const linking = { action: 'link', subject, linkTo: 'cus_2', expectedCustomerId: customer.id };
    await perform(context, operator, [{ ...linking, action: 'link' }]);
    expect(await codes()).toEqual(['customer-without-team']);
  });

  test('is none if its subscription has ended', async () => {
    await unlink(await arrange('canceled'));
    expect(await codes()).toEqual([]);
  });
});

test.each([
  ['in the mode of the key', false, []],
  ['in the other mode', true, ['events-in-other-mode']],
])('events %s', async (_, livemode, found) => {
  await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
  const body = { ...JSON.parse(eventBody({ customerId: 'cus_1' })), livemode };
  await account.ingest([received(JSON.stringify(body), Date.now())]);
  const { keyMode } = context;
  expect(keyMode).toBe('test');
  expect(await codes()).toEqual(found);
});

test('a product whose name could not be looked up is an issue, a new one is not', async () => {
  await query(`insert into instep.products (product_id) values ('prod_1')`);
  expect(await codes()).toEqual([]);
  await query('update instep.products set looked_up_at = now()');
  expect((await checkHealth(context)).issues).toMatchObject([
    { code: 'products-without-name', evidence: { products: 1 } },
  ]);
});

test('an instance with another access policy is an issue while it is running', async () => {
  const policyOf = (keepsPaused: boolean) =>
    ({ planSelection: 'newest', pastDueGraceMs: null, keepsPaused }) as const;
  await storePolicy(query, policyOf(true));
  await reportOtherPolicy(query, policyOf(true));
  expect(await codes()).toEqual([]);
  await reportOtherPolicy(query, policyOf(false));
  const otherPolicy = 'TEAM_PLAN=newest PAST_DUE_GRACE=off PAUSED_ACCESS=revoke';
  expect((await checkHealth(context)).issues).toMatchObject([
    { code: 'different-policies', evidence: { otherPolicy } },
  ]);
  await query(`update instep.access_policy set other_seen_at = now() - interval '3 minutes'`);
  expect(await codes()).toEqual([]);
  await reportOtherPolicy(query, policyOf(false));
  // It was restarted.
  await storePolicy(query, policyOf(false));
  expect(await codes()).toEqual([]);
});

test('an issue of the service offers no action on a subject, and any other one does', () => {
  const actions = ['link', 'replay', 'compare', 'repair', 'dismiss'];
  for (const { concerns, remedies } of Object.values(ISSUES)) {
    const has = remedies.some((remedy) => actions.includes(remedy));
    expect(has).toBe(concerns !== 'service');
  }
});

test('a team that keeps its plan although a payment is due for long is an issue', async () => {
  const acme = await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
  await addTeam(query, { name: 'Young', customerId: 'cus_2' });
  const day = 86_400;
  await deliver({ customerId: 'cus_1', createdSeconds: secondsAgo(60 * day) });
  await deliver({ customerId: 'cus_2', createdSeconds: secondsAgo(60 * day) });
  const dueSeconds = secondsAgo(15 * day);
  await deliver({ customerId: 'cus_1', createdSeconds: dueSeconds, status: 'past_due' });
  await deliver({ customerId: 'cus_1', createdSeconds: secondsAgo(day), status: 'past_due' });
  await deliver({ customerId: 'cus_2', createdSeconds: secondsAgo(13 * day), status: 'past_due' });
  expect(await codes()).toEqual(['payment-due']);
  expect((await findIssues(context).first()).issues).toMatchObject([
    {
      code: 'payment-due',
      subject: { kind: 'team', id: String(acme) },
      sinceMs: dueSeconds * 1_000,
      evidence: { subscriptionId: 'sub_1' },
    },
  ]);

  await deliver({ customerId: 'cus_1', createdSeconds: secondsAgo(10) });
  expect(await codes()).toEqual([]);
});

describe('a team without a plan whose customer pays', () => {
  const nowSeconds = secondsAgo(0);
  const at = (hoursAgo: number) => nowSeconds - hoursAgo * 3_600;
  const of = (subscriptionId: string, hoursAgo: number, status = 'active') =>
    deliver({
      ...{ customerId: 'cus_1', subscriptionId, status, productId: 'prod_pro' },
      createdSeconds: at(hoursAgo),
    });

  test('is an issue until an event of the other subscription arrives', async () => {
    const acme = await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
    await addTeam(query, { name: 'Ended', customerId: 'cus_2' });
    await deliver({ customerId: 'cus_2', subscriptionId: 'sub_3', status: 'canceled' });
    await of('sub_old', 4);
    await of('sub_new', 3);
    expect(await codes()).toEqual(['double-billed']);
    await of('sub_old', 2, 'canceled');
    expect(await codes()).toEqual(['paid-without-plan']);
    expect((await findIssues(context).first()).issues).toMatchObject([
      {
        code: 'paid-without-plan',
        severity: 'warning',
        subject: { kind: 'team', id: String(acme) },
        sinceMs: at(2) * 1_000,
        customerId: 'cus_1',
        team: { name: 'Acme' },
        evidence: { subscriptionId: 'sub_new', planName: 'Pro' },
      },
    ]);
    await of('sub_new', 1);
    expect(await codes()).toEqual([]);
  });

  test('is none where the app gives the plan, and can be dismissed', async () => {
    const acme = await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
    await of('sub_new', 3);
    await of('sub_old', 2, 'unpaid');
    expect(await codes()).toEqual(['paid-without-plan']);
    const subject = { kind: 'team', id: String(acme) } as const;
    await dismiss(subject);
    expect(await codes()).toEqual([]);
    expect((await checkHealth(context)).hidden).toBe(1);
    const hidden = await explainTeam(context, acme);
    expect(hidden).toMatchObject({ issues: [], dismissal: { action: 'dismiss' } });
    await restore(subject);
    expect((await findIssues(context).first()).issues).toMatchObject([{ subject }]);
    expect(await explainTeam(context, acme)).toMatchObject({ issues: [{}], dismissal: null });
    await query(`update teams set subscription_status = 'active', plan_name = 'Gift'`);
    expect(await codes()).toEqual([]);
  });
});

test('a team whose subscription should have ended is an issue until an event or Stripe says more', async () => {
  const acme = await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
  const day = 86_400;
  const endsAt = secondsAgo(2 * day);
  const event = JSON.parse(
    eventBody({ customerId: 'cus_1', createdSeconds: secondsAgo(30 * day) }),
  );
  event.data.object.cancel_at = endsAt;
  await account.ingest([received(JSON.stringify(event), Date.now())]);
  expect((await findIssues(context).first()).issues).toMatchObject([
    {
      code: 'end-not-confirmed',
      subject: { kind: 'team', id: String(acme) },
      sinceMs: endsAt * 1_000,
      evidence: { subscriptionId: 'sub_1' },
    },
  ]);
  expect(await codes()).toEqual(['end-not-confirmed']);
  await deliver({ customerId: 'cus_1', createdSeconds: secondsAgo(10), status: 'canceled' });
  expect(await codes()).toEqual([]);
});

describe('a customer that Stripe charges twice', () => {
  const ofTwo = { customerId: 'cus_1', subscriptionId: 'sub_2' } as const;

  test('is an issue with its subscriptions and with what the team has', async () => {
    const teamId = await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
    await addTeam(query, { name: 'Single', customerId: 'cus_2' });
    const [first, second] = [secondsAgo(7_200), secondsAgo(3_600)];
    const body = JSON.parse(eventBody({ customerId: 'cus_1', createdSeconds: first }));
    const item = { quantity: 3, price: { id: 'price_pro' } };
    Object.assign(body.data.object.items.data[0], item);
    await account.ingest([received(JSON.stringify(body), Date.now())]);
    await deliver({ customerId: 'cus_2', createdSeconds: first });
    await deliver({ customerId: 'cus_2', subscriptionId: 'sub_4', status: 'unpaid' });
    await deliver({ customerId: 'cus_2', subscriptionId: 'sub_5', status: 'incomplete' });
    expect(await codes()).toEqual([]);
    await deliver({ ...ofTwo, createdSeconds: second, status: 'trialing', productId: 'prod_2' });
    expect(await codes()).toEqual(['double-billed']);
    const { issues } = await findIssues(context).first();
    expect(issues).toMatchObject([
      {
        code: 'double-billed',
        severity: 'warning',
        subject: { kind: 'customer', id: 'cus_1' },
        team: { id: teamId, plan: { providerSubscriptionId: 'sub_2' } },
        evidence: {
          subscriptions: [
            {
              ...{ providerSubscriptionId: 'sub_1', status: 'active', sinceMs: first * 1_000 },
              ...{ quantity: 3, priceId: 'price_pro' },
            },
            { providerSubscriptionId: 'sub_2', status: 'trialing', providerProductId: 'prod_2' },
          ],
        },
      },
    ]);
    expect(await findIssues(context, 'double-billed').first()).toEqual({ issues, isMore: false });
  });

  test('is no issue any more as soon as one ends', async () => {
    await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
    await deliver({ customerId: 'cus_1', status: 'past_due', createdSeconds: secondsAgo(20) });
    await deliver({ ...ofTwo, createdSeconds: secondsAgo(10) });
    expect(await codes()).toEqual(['double-billed']);
    await deliver({ ...ofTwo, status: 'canceled', createdSeconds: secondsAgo(5) });
    expect(await codes()).toEqual([]);
  });

  test('stays quiet once it is on purpose, until the customer has other subscriptions', async () => {
    await addTeam(query, { name: 'Acme', customerId: 'cus_1' });
    await deliver({ customerId: 'cus_1', createdSeconds: secondsAgo(50) });
    await deliver({ ...ofTwo, createdSeconds: secondsAgo(40) });
    expect(await codes()).toEqual(['double-billed']);
    const subject = { kind: 'customer', id: 'cus_1' } as const;
    await dismiss(subject, 'two offices, two contracts');
    expect(await codes()).toEqual([]);
    expect((await findIssues(context).first()).issues).toEqual([]);
    await deliver({ ...ofTwo, status: 'past_due', createdSeconds: secondsAgo(30) });
    expect(await codes()).toEqual([]);
    const third = { customerId: 'cus_1', subscriptionId: 'sub_3' };
    await deliver({ ...third, createdSeconds: secondsAgo(20) });
    expect(await codes()).toEqual(['double-billed']);
    await dismiss(subject);
    expect(await codes()).toEqual([]);
    await deliver({ ...third, status: 'canceled', createdSeconds: secondsAgo(10) });
    expect(await codes()).toEqual(['paid-without-plan', 'double-billed']);
  });
});
