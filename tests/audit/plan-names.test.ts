import { expect, test } from 'vitest';
import { openApp, resultIn } from './audited-app.ts';

/** An organization with this plan, and the product that it pays for; `null`: none. */
type Organization = readonly [plan: string | null, productId: string | null];

async function openNamedApp(organizations: readonly Organization[]) {
  const app = await openApp('better-auth');
  for (const [index, [plan, productId]] of organizations.entries()) {
    const customerId = `cus_${index}`;
    app.customers.set({ id: customerId });
    if (productId !== null) app.subscribe(customerId, { productId });
    await app.sql(`
      insert into organization (id, name, slug, "createdAt", stripe_customer_id, plan, subscription_status)
      values ('org_${index}', 'x', '${index}', now(), '${customerId}', ${plan === null ? 'null' : `'${plan}'`},
              ${productId === null ? 'null' : `'active'`})`);
  }
  return app;
}

test('a name means the product that most rows with it pay for, which is printed', async () => {
  const app = await openNamedApp([
    ['pro', 'prod_pro'],
    ['pro', 'prod_pro'],
    ['pro', 'prod_team'],
    ['team', 'prod_team'],
    ['partner', null],
    ['free', null],
    ['free', 'prod_pro'],
    [null, 'prod_pro'],
    [null, null],
  ]);
  const ended = await app.audit(['--json']);
  const { plans, counts, rows } = resultIn(ended);
  expect(plans).toEqual({ pro: ['prod_pro'], team: ['prod_team'] });
  expect(counts).toMatchObject({ right: 6, ownPlans: 1 });
  expect(rows.map(({ customer, code }) => [customer, code])).toEqual([
    ['cus_6', 'missing'],
    ['cus_7', 'missing'],
    ['cus_2', 'other_plan'],
  ]);
  const { stdout } = await app.audit();
  expect(stdout).toContain('  pro = prod_pro\n');
});

test('--plans declares what names mean, also several products, or no plan', async () => {
  const app = await openNamedApp([
    ['pro', 'prod_team'],
    ['pro', 'prod_pro'],
    ['pro', 'prod_other'],
    ['hobby', null],
    ['hobby', 'prod_pro'],
  ]);
  const plans = 'pro=prod_pro,pro=prod_team,hobby=';
  expect(await app.codes('--plans', plans)).toEqual({
    cus_2: 'other_plan',
    cus_4: 'missing',
  });
});
