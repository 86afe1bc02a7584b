import {
  checkHealth,
  explainTeam,
  findIssues,
  ISSUES,
  reconcileTeams,
  SUBJECT_ISSUES,
} from 'instep/operate';
import { beforeEach, describe, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { reportOtherPolicy, storePolicy } from '../support/internals/access.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import {
  customerOf,
  openOperatedAccount,
  secondsAgo,
  teamOf,
} from '../support/stripe/operated-account.ts';

const { account, context, query, operator, newTeam, deliver, link, unlink, dismiss, ...operated } =
  await openOperatedAccount();

beforeEach(operated.empty);

const daysAgo = (days: number) => secondsAgo(days * 86_400);

const codes = async () => {
  const { issues } = await checkHealth(context);
  return issues.flatMap(({ code }) => (code === 'teams-not-compared' ? [] : [code]));
};

const firstIssues = async () => (await findIssues(context).page()).rows;

test('nothing is wrong at first, and nothing was compared', async () => {
  expect(await checkHealth(context)).toMatchObject({ issues: [], reconciled: null });
  expect(await firstIssues()).toEqual([]);
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
  const sinceMs = Date.now() - 3_600_000;
  await deliver({ customerId: 'cus_2' }, sinceMs);
  const [warning] = (await checkHealth(context)).issues;
  expect(warning).toMatchObject({ severity: 'warning', count: 2, isMore: false });
  expect(await firstIssues()).toMatchObject([
    {
      code: 'parked-events',
      subject: customerOf('cus_1'),
      remedies: ['link', 'replay', 'dismiss'],
      evidence: { events: 1, newest: { outcome: 'parked' } },
      team: null,
    },
    { subject: customerOf('cus_2'), sinceMs },
  ]);
});

test('a comparison finds teams and customers, each with the cause', async () => {
  const [late, unknown] = [await newTeam('Late', 'cus_1'), await newTeam('Unknown', 'cus_2')];
  const productId = 'prod_pro';
  const fields = { subscriptionId: 'sub_1', productId, createdSeconds: secondsAgo(600) };
  await account.happen({ ...fields, customerId: 'cus_1' }, 'missed');
  await account.happen({ ...fields, customerId: 'cus_3', subscriptionId: 'sub_3' }, 'missed');
  await reconcileTeams(context, operator, { isDryRun: true });

  expect(await codes()).toEqual(['out-of-sync', 'customer-without-team', 'unknown-customer']);
  const issues = await firstIssues();
  expect(issues).toMatchObject([
    {
      code: 'out-of-sync',
      severity: 'failure',
      subject: teamOf(late),
      team: { name: 'Late' },
      evidence: {
        cause: 'missed event',
        is: { subscriptionStatus: null },
        shouldBe: { subscriptionStatus: 'active' },
      },
    },
    { code: 'customer-without-team', subject: customerOf('cus_3'), team: null },
    { code: 'unknown-customer', subject: teamOf(unknown) },
  ]);
  expect((await explainTeam(context, late))?.issues).toEqual(issues.slice(0, 1));

  const first = await findIssues(context).page({ limit: 1 });
  expect(first).toMatchObject({ rows: issues.slice(0, 1), next: issues[0]?.key, previous: null });
  const start = { side: 'after', key: first.next ?? '' } as const;
  const rest = await findIssues(context).page({ start });
  expect(rest).toMatchObject({ rows: issues.slice(1), next: null, previous: issues[1]?.key });
  const back = { side: 'before', key: issues[2]?.key ?? '' } as const;
  expect((await findIssues(context).page({ start: back, limit: 1 })).rows).toEqual([issues[1]]);
  expect(await collect(findIssues(context).all())).toEqual(issues);
  expect(await collect(findIssues(context, { code: 'unknown-customer' }).all())).toEqual([
    issues[2],
  ]);
});

describe('a customer with a live subscription whose team is taken away', () => {
  const customer = customerOf('cus_1');
  const arrange = async (status: string) => {
    const teamId = await newTeam('Acme', 'cus_1');
    await deliver({ customerId: 'cus_1', status });
    return teamId;
  };

  test('is an issue at once, until it has a team again', async () => {
    const teamId = await arrange('active');
    expect(await codes()).toEqual([]);
    await unlink(teamId, 'cus_1');
    expect(await codes()).toEqual(['customer-without-team']);
    expect(await firstIssues()).toMatchObject([
      { subject: customer, team: null, remedies: ['link', 'dismiss'] },
    ]);
    await link(teamOf(teamId), 'cus_1');
    expect(await codes()).toEqual([]);
  });

  test('is an issue also if it was dismissed when it waited for its first team', async () => {
    await deliver({ customerId: 'cus_1' });
    await dismiss(customer);
    const teamId = await newTeam('Acme', 'cus_1');
    await account.settle('cus_1');
    await unlink(teamId, 'cus_1');
    expect(await codes()).toEqual(['customer-without-team']);
    await dismiss(customer);
    expect(await codes()).toEqual([]);
  });

  test('is an issue also if the team gets another customer', async () => {
    const teamId = await arrange('trialing');
    account.customers.set({ id: 'cus_2' });
    await link(teamOf(teamId), 'cus_2', 'cus_1');
    expect(await codes()).toEqual(['customer-without-team']);
  });

  test('is none if its subscription has ended', async () => {
    await unlink(await arrange('canceled'), 'cus_1');
    expect(await codes()).toEqual([]);
  });
});

test('a product whose name could not be looked up is an issue, a new one is not', async () => {
  await query(`insert into instep.products (product_id) values ('prod_1')`);
  expect(await codes()).toEqual([]);
  await query('update instep.products set looked_up_at = now()');
  expect(await codes()).toEqual(['products-without-name']);
  expect((await checkHealth(context)).namelessProducts).toEqual(['prod_1']);
});

test('an instance with another access policy is an issue while it is running', async () => {
  const policy = { planSelection: 'best', pastDueGraceMs: null } as const;
  const other = { ...policy, planSelection: 'newest' } as const;
  await storePolicy(query, policy);
  await reportOtherPolicy(query, policy);
  expect(await codes()).toEqual([]);
  await reportOtherPolicy(query, other);
  const otherPolicy = 'TEAM_PLAN=newest PAST_DUE_GRACE=off';
  expect(await codes()).toEqual(['different-policies']);
  expect((await checkHealth(context)).otherPolicy).toBe(otherPolicy);
  await query(`update instep.access_policy set other_seen_at = now() - interval '3 minutes'`);
  expect(await codes()).toEqual([]);
  await reportOtherPolicy(query, other);
  // It was restarted.
  await storePolicy(query, other);
  expect(await codes()).toEqual([]);
});

test('an issue of a team, a customer or an event offers an action on it', () => {
  const actions = ['link', 'replay', 'compare', 'repair', 'dismiss'];
  for (const code of SUBJECT_ISSUES) {
    expect(ISSUES[code].remedies.some((remedy) => actions.includes(remedy))).toBe(true);
  }
});

test('a team that keeps its plan although a payment is due for long is an issue', async () => {
  const acme = await newTeam('Acme', 'cus_1');
  await newTeam('Young', 'cus_2');
  const dueSeconds = daysAgo(15);
  const happen = (customerId: string, createdSeconds: number, status = 'past_due') =>
    deliver({ customerId, createdSeconds, status });
  await happen('cus_1', daysAgo(60), 'active');
  await happen('cus_2', daysAgo(60), 'active');
  await happen('cus_1', dueSeconds);
  await happen('cus_1', daysAgo(1));
  await happen('cus_2', daysAgo(13));
  expect(await codes()).toEqual(['payment-due']);
  expect(await firstIssues()).toMatchObject([
    {
      subject: teamOf(acme),
      sinceMs: dueSeconds * 1_000,
      evidence: { subscriptionId: 'sub_1' },
    },
  ]);
  await happen('cus_1', secondsAgo(10), 'active');
  expect(await codes()).toEqual([]);
});

describe('a team without a plan whose customer pays', () => {
  const at = (hoursAgo: number) => secondsAgo(hoursAgo * 3_600);
  const of = (subscriptionId: string, createdSeconds: number, status = 'active') =>
    deliver({ customerId: 'cus_1', subscriptionId, status, productId: 'prod_pro', createdSeconds });

  test('is an issue until an event of the other subscription arrives', async () => {
    const acme = await newTeam('Acme', 'cus_1');
    await newTeam('Ended', 'cus_2');
    await deliver({ customerId: 'cus_2', subscriptionId: 'sub_3', status: 'canceled' });
    await of('sub_old', at(4));
    await of('sub_new', at(3));
    expect(await codes()).toEqual(['charged-twice']);
    const endedSeconds = at(2);
    await of('sub_old', endedSeconds, 'canceled');
    expect(await codes()).toEqual(['paid-without-plan']);
    expect(await firstIssues()).toMatchObject([
      {
        severity: 'warning',
        subject: teamOf(acme),
        sinceMs: endedSeconds * 1_000,
        customerId: 'cus_1',
        team: { name: 'Acme' },
        evidence: { subscriptionId: 'sub_new', planName: 'Pro' },
      },
    ]);
    await of('sub_new', at(1));
    expect(await codes()).toEqual([]);
  });

  test('is none where the app gives the plan, and can be dismissed', async () => {
    const acme = await newTeam('Acme', 'cus_1');
    const subject = teamOf(acme);
    await of('sub_new', at(3));
    await of('sub_old', at(2), 'unpaid');
    expect(await codes()).toEqual(['paid-without-plan']);
    await dismiss(subject);
    expect(await codes()).toEqual([]);
    expect((await checkHealth(context)).hidden).toBe(1);
    const hidden = await explainTeam(context, acme);
    expect(hidden).toMatchObject({ issues: [], dismissal: { action: 'dismiss' } });
    await operated.act({ action: 'restore', subject });
    expect(await firstIssues()).toMatchObject([{ subject }]);
    expect(await explainTeam(context, acme)).toMatchObject({ issues: [{}], dismissal: null });
    await query(`update teams set subscription_status = 'active', plan_name = 'Gift'`);
    expect(await codes()).toEqual([]);
  });
});

test('a team whose subscription should have ended is an issue until an event or Stripe says more', async () => {
  const acme = await newTeam('Acme', 'cus_1');
  const endsAt = daysAgo(2);
  const event = JSON.parse(eventBody({ customerId: 'cus_1', createdSeconds: daysAgo(30) }));
  event.data.object.cancel_at = endsAt;
  await account.ingest([received(JSON.stringify(event), Date.now())]);
  expect(await codes()).toEqual(['end-not-confirmed']);
  expect(await firstIssues()).toMatchObject([
    { subject: teamOf(acme), sinceMs: endsAt * 1_000, evidence: { subscriptionId: 'sub_1' } },
  ]);
  await deliver({ customerId: 'cus_1', createdSeconds: secondsAgo(10), status: 'canceled' });
  expect(await codes()).toEqual([]);
});

describe('a customer that Stripe charges twice', () => {
  const of = (subscriptionId: string, createdSeconds: number, status = 'active') =>
    deliver({ customerId: 'cus_1', subscriptionId, createdSeconds, status });

  test('is an issue with its subscriptions and with what the team has', async () => {
    const teamId = await newTeam('Acme', 'cus_1');
    await newTeam('Single', 'cus_2');
    const first = secondsAgo(7_200);
    const body = JSON.parse(eventBody({ customerId: 'cus_1', createdSeconds: first }));
    const item = { quantity: 3, price: { id: 'price_pro' } };
    Object.assign(body.data.object.items.data[0], item);
    await account.ingest([received(JSON.stringify(body), Date.now())]);
    await deliver({ customerId: 'cus_2', createdSeconds: first });
    await deliver({ customerId: 'cus_2', subscriptionId: 'sub_4', status: 'unpaid' });
    await deliver({ customerId: 'cus_2', subscriptionId: 'sub_5', status: 'incomplete' });
    expect(await codes()).toEqual([]);
    await of('sub_2', secondsAgo(3_600), 'trialing');
    expect(await codes()).toEqual(['charged-twice']);
    const issues = await firstIssues();
    expect(issues).toMatchObject([
      {
        severity: 'warning',
        subject: customerOf('cus_1'),
        team: { id: teamId, plan: { providerSubscriptionId: 'sub_2' } },
        evidence: {
          subscriptions: [
            {
              ...{ providerSubscriptionId: 'sub_1', status: 'active', sinceMs: first * 1_000 },
              ...{ quantity: 3, priceId: 'price_pro' },
            },
            { providerSubscriptionId: 'sub_2', status: 'trialing' },
          ],
        },
      },
    ]);
  });

  test('stays quiet once it is on purpose, until the customer has other subscriptions', async () => {
    await newTeam('Acme', 'cus_1');
    await of('sub_1', secondsAgo(50));
    await of('sub_2', secondsAgo(40));
    await dismiss(customerOf('cus_1'), 'two offices, two contracts');
    expect(await codes()).toEqual([]);
    expect(await firstIssues()).toEqual([]);
    await of('sub_2', secondsAgo(30), 'past_due');
    expect(await codes()).toEqual([]);
    await of('sub_3', secondsAgo(20));
    expect(await codes()).toEqual(['charged-twice']);
    await dismiss(customerOf('cus_1'));
    expect(await codes()).toEqual([]);
    await of('sub_3', secondsAgo(10), 'canceled');
    expect(await codes()).toEqual(['paid-without-plan', 'charged-twice']);
  });
});
