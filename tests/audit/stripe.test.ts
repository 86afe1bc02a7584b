import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder, spawnInstep } from '../support/process/instep-process.ts';
import { runInTerminal } from '../support/process/terminal.ts';
import { openApp, resultIn } from './audited-app.ts';

/** Customers whose rows have the plan that they pay for. */
async function openPayingApp(count: number) {
  const app = await openApp('saas-starter');
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
    select 'x', 'cus_' || id, 'prod_pro', 'active' from generate_series(1, ${count}) as id`);
  for (let id = 1; id <= count; id += 1) app.subscribe(`cus_${id}`);
  return app;
}

const isOfList = (path: string) => path.includes('status=all') && path.includes('limit=100');

test('reads the list once, and asks only for customers of whom it has nothing and whose row has a plan', async () => {
  const app = await openPayingApp(250);
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_product_id, subscription_status)
    values ('clock', 'cus_clock', 'prod_team', 'active'), ('gift', 'cus_gift', 'prod_pro', 'active'),
           ('typo', 'cus_typo', 'prod_pro', 'active'), ('none', 'cus_none', null, null)`);
  app.subscribe('cus_clock', { testClockId: 'clock_1' });
  app.customers.set({ id: 'cus_gift' });
  expect(await app.codes()).toEqual({ cus_clock: 'other_plan', cus_typo: 'unknown_customer' });
  const lists = app.calls.filter(isOfList).filter((path) => !path.includes('customer='));
  expect(lists.map((path) => path.includes('starting_after'))).toEqual([false, true, true]);
  const asked = app.calls.flatMap((path) => /customer=(\w+)/.exec(path)?.[1] ?? []);
  expect(asked.sort()).toEqual(['cus_clock', 'cus_gift', 'cus_typo']);
});

test('makes at most ten calls in any second', async () => {
  const app = await openPayingApp(1_500);
  const timesMs: number[] = [];
  app.fault = () => {
    timesMs.push(performance.now());
    return undefined;
  };
  expect(await app.audit()).toMatchObject({ code: 0 });
  // The two calls that ask what the key can read, and fifteen pages.
  expect(timesMs).toHaveLength(17);
  const spansMs = timesMs.slice(10).map((timeMs, index) => timeMs - (timesMs[index] ?? 0));
  expect(Math.min(...spansMs)).toBeGreaterThan(1_000);
});

test('waits as long as Stripe asks, and goes on', async () => {
  const app = await openPayingApp(250);
  const timesMs: number[] = [];
  app.fault = (path) => {
    if (!path.includes('starting_after')) return undefined;
    timesMs.push(performance.now());
    return timesMs.length === 1 ? { status: 429, retryAfterSeconds: 1 } : undefined;
  };
  expect(resultIn(await app.audit(['--json'])).counts).toMatchObject({ right: 250 });
  expect((timesMs[1] ?? 0) - (timesMs[0] ?? 0)).toBeGreaterThan(900);
});

test('prints no result if Stripe fails at the last page or the last customer, or if it is stopped', async () => {
  const app = await openPayingApp(250);
  await app.sql(
    `insert into teams (name, stripe_customer_id, stripe_product_id) values ('gift', 'cus_gift', 'prod_pro')`,
  );
  app.customers.set({ id: 'cus_gift' });
  for (const [part, status] of [
    ['starting_after=', 400],
    ['customer=', 409],
  ] as const) {
    app.fault = (path) => (path.includes(part) ? { status } : undefined);
    const { code, stdout, stderr } = await app.audit();
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^Table .*\n$/) });
    expect(stderr).toContain(`Stripe's API failed: answered ${status} [RECONCILIATION_FAILED]`);
  }
  app.fault = () => undefined;
  const child = spawnInstep(['audit', '--json'], app.environment);
  app.fault = () => {
    // A second signal would end it at once.
    app.fault = () => undefined;
    child.process.kill('SIGINT');
    return undefined;
  };
  expect(await child.exited).toBe(1);
  expect(child.stdout).toBe('');
  expect(child.stderr).toContain('stopped');
});

test('exits with 1 and no result if subscriptions can not be read', async () => {
  const app = await openPayingApp(2);
  app.subscriptions.set({ id: 'sub_odd', created: 1, status: 'active', customer: null });
  const { code, stdout, stderr } = await app.audit(['--json']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(
    '1 subscription could not be read: upgrade Instep [RECONCILIATION_FAILED]',
  );
});

test('shows its progress on a terminal, and nowhere else', async () => {
  const app = await openPayingApp(250);
  await app.sql(
    `insert into teams (name, stripe_customer_id, stripe_product_id) values ('gift', 'cus_gift', 'prod_pro')`,
  );
  app.customers.set({ id: 'cus_gift' });
  expect((await app.audit()).stderr).toBe('');
  const folder = createFolder();
  const variables = Object.entries(app.environment).map(([name, value]) => `${name}='${value}'\n`);
  writeFileSync(join(folder, '.env'), variables.join(''));
  const { code, output } = await runInTerminal(['audit'], folder, []);
  expect(code).toBe(0);
  expect(output).toMatch(/\rStripe: 100 subscriptions █+░+ 40 % {2}\d+ s/);
  expect(output).toContain('\rStripe: asked for 1 of 1 customer not in its list ██████████ 100 %');
  expect(output).toMatch(/Stripe: 250 subscriptions █{10} 100 % {2}\d+ s\r?\n251 of 251 are right/);
});
