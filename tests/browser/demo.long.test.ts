import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectText, useBrowser } from '../support/browser/browser.ts';
import {
  createFolder,
  runInstep,
  type SpawnedInstep,
  spawnInstep,
} from '../support/process/instep-process.ts';

const browser = useBrowser();
const folder = createFolder();
const environment = { INSTEP_DATA: folder, PORT: '0', OPS_PORT: '0' };
let demo: SpawnedInstep;
let url: string;
/** The id of Ada's team. */
let teamId: string;

beforeAll(async () => {
  await runInstep(['demo', '--once'], environment);
  demo = spawnInstep(['demo'], environment);
  await demo.writes(/until you press Ctrl-C/);
  [, url = ''] = /Console: (\S+)/.exec(demo.stdout) ?? [];
  [, teamId = ''] = /npx instep team show (\d+)/.exec(demo.stdout) ?? [];
});
afterAll(async () => {
  await demo?.stop('SIGINT');
});

test('the reason why a team has no plan is at most 3 clicks away', async () => {
  const page = await browser.newPage();
  let clicks = 0;
  async function click(link: Locator): Promise<void> {
    await link.click();
    clicks += 1;
  }

  await page.goto(url);
  await click(page.getByRole('link', { name: 'Teams' }));
  await click(page.locator(`a[href="/teams/${teamId}"]`));
  await expectText(page.getByRole('region', { name: 'Current plan' })).toMatch(
    /no plan Subscription sub_\w+ was canceled\. The customer has had no plan since \w{3} \d+/,
  );
  expect(clicks).toBeLessThanOrEqual(3);
});

test('the charts are refreshed', async () => {
  const page = await browser.newPage();
  await page.goto(url);
  const chart = page.getByRole('region', { name: 'Events per minute' });
  const before = await chart.innerText();
  await expect.poll(() => chart.innerText(), { timeout: 30_000 }).not.toBe(before);
});

test('a company that paid gets its plan in 4 actions', async () => {
  const page = await browser.newPage();
  await page.goto(url);
  await page.getByRole('link', { name: 'Attention' }).click();
  const row = page.getByRole('row').filter({ hasText: '_driftwood' });
  await row.getByRole('combobox').fill('Driftwood');
  await row.getByRole('button', { name: 'Link team' }).click();
  await row.getByRole('button', { name: 'Link to Driftwood' }).first().click();
  await page.locator('[data-result=linked]').waitFor();
  expect(await row.count()).toBe(0);
});

test('a plan that was changed by hand shows up by itself, and is repaired', async () => {
  const page = await browser.newPage();
  const row = page.getByRole('row', { name: 'Moonraker Sails' });
  const isPatient = { timeout: 30_000 };
  await expect
    .poll(async () => {
      await page.goto(`${url}attention`);
      return await row.count();
    }, isPatient)
    .toBe(1);
  await row.getByRole('button', { name: 'Repair' }).click();
  await page.getByRole('button', { name: 'Repair 1 team' }).click();
  await page.locator('[data-result=repaired]').waitFor();
  expect(await row.count()).toBe(0);
});

test('a dry run finds the one missed cancellation, which then needs attention', async () => {
  const [, secret = '', port = '', args = ''] =
    /STRIPE_WEBHOOK_SECRET=(\S+) PORT=(\d+) \\\n.* npx instep (.*)/.exec(demo.stdout) ?? [];
  const target = { STRIPE_WEBHOOK_SECRET: secret, PORT: port };
  // The stand-in for Stripe knows this event. Only those of the last seconds are no drift without that.
  const created = `--created ${Math.floor(Date.now() / 1_000) - 15}`;
  const triggered = await runInstep(`${args} ${created}`.split(' '), target);
  expect(triggered).toMatchObject({ code: 0 });
  const page = await browser.newPage();
  await page.goto(`${url}reconcile`);
  await page.getByRole('button', { name: 'Start a dry run' }).click();
  await page.getByRole('link', { name: 'Repair 1 out of sync' }).click();
  const row = page.getByRole('row', { name: 'Foxglove Legal' });
  await row.getByRole('button', { name: 'Repair' }).click();
  await page.getByRole('button', { name: 'Repair 1 team' }).click();
  await page.locator('[data-result=repaired]').waitFor();
});
