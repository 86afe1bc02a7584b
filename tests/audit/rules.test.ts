import { describe, expect, test } from 'vitest';
import { openApp, resultIn } from './audited-app.ts';

type Subscribed = Parameters<Awaited<ReturnType<typeof openApp>>['subscribe']>[1];

/** What the row of a customer has: a product, a status and a subscription; `null`: nothing. */
type Has = readonly [product: string | null, status: string | null, subscription: string | null];

type Case = readonly [
  name: string,
  has: Has,
  subscriptions: readonly Subscribed[],
  code: string | null,
];

const TWO: readonly Subscribed[] = [
  { subscriptionId: 'sub_a', productId: 'prod_pro' },
  { subscriptionId: 'sub_b', productId: 'prod_team' },
];

const of = (status: string, subscriptionId = 'sub_a', productId = 'prod_pro') => ({
  ...{ status, subscriptionId, productId },
});

const PRO: Has = ['prod_pro', 'active', 'sub_a'];
const NOTHING: Has = [null, null, null];

/** Audits all of these customers at once. */
async function expectCodes(cases: readonly Case[], ...args: string[]) {
  const app = await openApp('saas-starter');
  const expected: Record<string, string> = {};
  for (const [index, [, has, subscriptions, code]] of cases.entries()) {
    const customerId = `cus_${index}`;
    app.customers.set({ id: customerId });
    for (const { subscriptionId, ...fields } of subscriptions.map((one) => ({ ...one }))) {
      app.subscribe(customerId, { ...fields, subscriptionId: `${subscriptionId}_${index}` });
    }
    const [product, status, subscription] = has.map((value) =>
      value === null ? 'null' : `'${value}'`,
    );
    const id = subscription === 'null' ? 'null' : `${subscription?.slice(0, -1)}_${index}'`;
    await app.sql(`
      insert into teams (name, stripe_customer_id, stripe_subscription_id, stripe_product_id, subscription_status)
      values ('${index}', '${customerId}', ${id}, ${product}, ${status})`);
    if (code !== null) expected[customerId] = code;
  }
  const named = (codes: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(codes).map(([id, code]) => [cases[Number(id.slice(4))]?.[0] ?? id, code]),
    );
  expect(named(await app.codes(...args))).toEqual(named(expected));
}

test('a row must show the best of the live subscriptions', () =>
  expectCodes([
    [
      'active before trialing',
      PRO,
      [of('active'), of('trialing', 'sub_b', 'prod_team')],
      'charged_twice',
    ],
    [
      'trialing, although another is active',
      ['prod_team', 'trialing', 'sub_b'],
      [of('active'), of('trialing', 'sub_b', 'prod_team')],
      'other_plan',
    ],
    ['live beside an ended one', PRO, [of('active'), of('canceled', 'sub_b', 'prod_team')], null],
    ['one of two that are as good', PRO, TWO, 'charged_twice'],
    ['the other of two that are as good', ['prod_team', 'active', 'sub_b'], TWO, 'charged_twice'],
    [
      'the subscription of one, and the plan of another',
      ['prod_team', 'active', 'sub_a'],
      TWO,
      'other_subscription',
    ],
    ['Stripe by another status', ['prod_pro', 'active', 'sub_a'], [of('trialing')], 'other_status'],
    ['no status', ['prod_pro', null, 'sub_a'], [of('active')], 'other_status'],
    ['a status in other words', ['prod_pro', 'ACTIVE', 'sub_a'], [of('active')], null],
    ['a status of its own', ['prod_pro', 'premium', 'sub_a'], [of('active')], 'other_status'],
  ]));

test('ended subscriptions end a plan, and nothing else does', () =>
  expectCodes([
    ['canceled', PRO, [of('canceled')], 'ended'],
    ['unpaid', PRO, [of('unpaid')], 'ended'],
    ['never paid', PRO, [of('incomplete_expired')], 'ended'],
    ['one status, without a plan', ['prod_pro', 'canceled', 'sub_a'], [of('canceled')], null],
    ['cancelled in English', ['prod_pro', 'cancelled', 'sub_a'], [of('canceled')], null],
    ['incomplete claims nothing', PRO, [of('incomplete')], null],
    ['incomplete claims no plan', NOTHING, [of('incomplete')], null],
    ['paused claims nothing', PRO, [of('paused'), of('canceled', 'sub_b')], null],
    ['paused claims no plan', NOTHING, [of('paused')], null],
    ['nothing at Stripe ever', ['prod_pro', 'active', 'sub_a'], [], null],
    ['no subscription in the row', ['prod_pro', 'active', null], [of('canceled')], null],
    [
      'no subscription in the row, but a live one',
      ['prod_team', 'active', null],
      [of('active')],
      'other_plan',
    ],
    ['trialing and no plan', NOTHING, [of('trialing')], 'missing'],
  ]));

describe.each([
  [
    'keep',
    { plan: null, none: 'missing', other: 'other_plan', status: null, twice: 'charged_twice' },
  ],
  ['ended', { plan: 'ended', none: null, other: 'ended', status: null, twice: null }],
] as const)('--past-due %s', (how, codes) => {
  test('says what a payment that is due does', () =>
    expectCodes(
      [
        ['a plan', PRO, [of('past_due')], codes.plan],
        ['no plan', NOTHING, [of('past_due')], codes.none],
        ['another plan', ['prod_team', 'active', 'sub_a'], [of('past_due')], codes.other],
        ['the status of Stripe', ['prod_pro', 'past_due', 'sub_a'], [of('past_due')], codes.status],
        [
          'another one is active',
          PRO,
          [of('past_due', 'sub_b', 'prod_team'), of('active')],
          codes.twice,
        ],
      ],
      ...['--past-due', how],
    ));
});

test('of several rows of a customer, each is compared', async () => {
  const app = await openApp('no tables');
  await app.sql(`
    create table teams (id serial, stripe_customer_id text, stripe_subscription_id text, stripe_product_id text, status text);
    insert into teams (stripe_customer_id, stripe_subscription_id, stripe_product_id, status)
    values ('cus_shared', 'sub_now', 'prod_pro', 'active'), ('cus_shared', 'sub_now', 'prod_pro', 'active'),
           ('cus_shared', null, null, null), ('cus_shared', 'sub_now', 'prod_team', 'active'),
           ('cus_ended', 'sub_first', 'prod_pro', 'active'), ('cus_ended', 'sub_last', 'prod_pro', 'active'),
           ('cus_gift', null, 'prod_pro', null), ('cus_gift', null, null, null)`);
  app.subscribe('cus_shared', of('active', 'sub_now'));
  for (const id of ['sub_first', 'sub_last']) app.subscribe('cus_ended', of('canceled', id));
  app.customers.set({ id: 'cus_gift' });
  const { rows, counts } = resultIn(await app.audit(['--json']));
  expect(rows.map(({ id, code }) => [id, code])).toEqual([
    ['5', 'ended'],
    ['6', 'ended'],
    ['3', 'missing'],
    ['4', 'other_plan'],
  ]);
  expect(counts).toMatchObject({ customers: 3, rows: 8, right: 4, ownPlans: 1 });
  expect((await app.audit()).stdout).toMatch(
    /: 3 customers in 8 rows (.*\n)*4 of 8 are right, 1 of them/,
  );
});

test('beside a row with the plan, those of other subscriptions are records of what has ended', async () => {
  const app = await openApp('no tables');
  await app.sql(`
    create table subscriptions (id serial, stripe_customer_id text, stripe_subscription_id text, stripe_product_id text, status text);
    insert into subscriptions (stripe_customer_id, stripe_subscription_id, stripe_product_id, status)
    values ('cus_right', 'sub_former', 'prod_team', 'canceled'), ('cus_right', 'sub_now', 'prod_pro', 'active'),
           ('cus_missing', 'sub_former', 'prod_pro', 'canceled'), ('cus_missing', 'sub_now', 'prod_pro', 'canceled')`);
  for (const customer of ['cus_right', 'cus_missing'])
    app.subscribe(customer, of('active', `sub_now`));
  const { rows, counts } = resultIn(await app.audit(['--json']));
  expect(rows.map(({ id, code }) => [id, code])).toEqual([
    ['3', 'missing'],
    ['4', 'missing'],
  ]);
  expect(counts).toMatchObject({ rows: 4, right: 2 });
});
