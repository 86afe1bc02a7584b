import { expect, test } from 'vitest';
import { openApp, resultIn } from './audited-app.ts';

/** One row for each thing that can be wrong, and for each that is right. */
async function openWrongApp() {
  const app = await openApp('saas-starter');
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_subscription_id, stripe_product_id, plan_name, subscription_status)
    values ('1', 'cus_right', 'sub_right', 'prod_pro', 'Pro', 'active'),
           ('2', 'cus_never', null, null, null, null),
           ('3', 'cus_gift', null, 'prod_pro', 'Pro', 'active'),
           ('4', 'cus_gift_since', null, 'prod_pro', 'Pro', 'active'),
           ('5', 'cus_ended', 'sub_ended', 'prod_pro', 'Pro', 'active'),
           ('6', 'cus_missing', null, null, null, null),
           ('7', 'cus_plan', 'sub_plan', 'prod_team', 'Team', 'active'),
           ('8', 'cus_status', 'sub_status', 'prod_pro', 'Pro', 'trialing'),
           ('9', 'cus_subscription', 'sub_former', 'prod_pro', 'Pro', 'active'),
           ('10', 'cus_twice', 'sub_twice', 'prod_pro', 'Pro', 'active'),
           ('11', 'cus_unknown', null, 'prod_pro', 'Pro', 'active'),
           ('12', '', null, 'prod_pro', 'Pro', 'active'),
           ('13', null, null, 'prod_pro', 'Pro', 'active'),
           ('14', 'cus_over', null, null, null, 'canceled')`);
  app.customers.set({ id: 'cus_gift' });
  for (const id of ['right', 'missing', 'plan', 'status', 'subscription', 'twice', 'nobody']) {
    app.subscribe(`cus_${id}`);
  }
  app.subscribe('cus_twice', { subscriptionId: 'sub_second' });
  for (const id of ['gift_since', 'ended', 'over', 'nobody_over']) {
    app.subscribe(`cus_${id}`, { status: 'canceled' });
  }
  return app;
}

test('prints what is wrong, how often, and exits with 3', async () => {
  const app = await openWrongApp();
  const { code, stdout, stderr } = await app.audit();
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  expect(
    stdout
      .replace(/ {2,}/g, '  ')
      .replace(/\d+ s$/m, '0 s')
      .split('\n'),
  ).toEqual([
    'Table public.teams: 12 customers (stripe_customer_id, plan_name, subscription_status, stripe_product_id, stripe_subscription_id)',
    'Stripe: 12 subscriptions ██████████ 100 %  0 s',
    '  1  has a plan, but Stripe has ended its subscription  ended',
    '  1  pays Stripe, and has no plan  missing',
    '  1  has another plan than it pays for  other_plan',
    '  1  has another status than at Stripe  other_status',
    '  1  has another subscription than it pays for  other_subscription',
    '  1  is charged twice  charged_twice',
    '  1  customer that Stripe does not know  unknown_customer',
    '5 of 12 are right, 2 of them with a plan of your own.',
    '  1  customer who pays is in no row  not_in_table',
    'Customers of another account or mode: audit them with their own key.',
    'Details: --list, --json, --csv. Nothing was written.',
    'instep init keeps it so.',
    '',
  ]);
});

const CODES = [
  ['cus_ended', 'ended'],
  ['cus_missing', 'missing'],
  ['cus_plan', 'other_plan'],
  ['cus_status', 'other_status'],
  ['cus_subscription', 'other_subscription'],
  ['cus_twice', 'charged_twice'],
  ['cus_unknown', 'unknown_customer'],
  ['cus_nobody', 'not_in_table'],
];

test('--json prints one object with its version, the counts, and the code of each row', async () => {
  const app = await openWrongApp();
  const ended = await app.audit(['--json']);
  expect(ended).toMatchObject({ code: 3, stderr: '' });
  const { rows, ...others } = resultIn(ended);
  expect(others).toEqual({
    version: 1,
    table: 'public.teams',
    columns: [
      'stripe_customer_id',
      'plan_name',
      'subscription_status',
      'stripe_product_id',
      'stripe_subscription_id',
    ],
    counts: {
      ...{ customers: 12, rows: 12, subscriptions: 12, right: 5, ownPlans: 2 },
      ...Object.fromEntries(CODES.map(([, code]) => [code, 1])),
    },
    plans: {},
  });
  expect(rows.map(({ customer, code }) => [customer, code])).toEqual(CODES);
  expect(rows[2]).toEqual({
    code: 'other_plan',
    id: '7',
    customer: 'cus_plan',
    plan: 'Team',
    status: 'active',
    product: 'prod_team',
    price: null,
    subscription: 'sub_plan',
    stripe_status: 'active',
    stripe_product: 'prod_pro',
    stripe_price: 'price_prod_pro',
    stripe_subscription: 'sub_plan',
  });
});

test('--csv and --list print the rows, at most as many as --limit says', async () => {
  const app = await openWrongApp();
  const csv = await app.audit(['--csv', '--limit', '2']);
  expect(csv).toMatchObject({ code: 3, stderr: '2 of 8 differences printed: set --limit\n' });
  expect(csv.stdout.split('\r\n')).toEqual([
    'code,id,customer,plan,status,product,price,subscription,stripe_status,stripe_product,stripe_price,stripe_subscription',
    'ended,5,cus_ended,Pro,active,prod_pro,,sub_ended,canceled,prod_pro,price_prod_pro,sub_ended',
    'missing,6,cus_missing,,,,,,active,prod_pro,price_prod_pro,sub_missing',
    '',
  ]);
  const { stdout } = await app.audit(['--list', '--limit', '3']);
  const listed = stdout.split('\n').filter((line) => /^[a-z_]+ +\d+ +cus_/.test(line));
  expect(listed.map((line) => line.split(/ +/).slice(0, 3))).toEqual([
    ['ended', '5', 'cus_ended'],
    ['missing', '6', 'cus_missing'],
    ['other_plan', '7', 'cus_plan'],
  ]);
  // The counts are those of all rows.
  expect(stdout).toContain('5 of 12 are right');
});

test('exits with 0 when all is right', async () => {
  const app = await openApp('saas-starter');
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_subscription_id, stripe_product_id, plan_name, subscription_status)
    values ('1', 'cus_1', 'sub_1', 'prod_pro', 'Pro', 'active')`);
  app.subscribe('cus_1');
  const { code, stdout } = await app.audit();
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(2)).toEqual([
    '1 of 1 are right.',
    'Details: --list, --json, --csv. Nothing was written.',
    '',
  ]);
});
