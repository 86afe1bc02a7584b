import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useBrowser } from '../support/browser/browser.ts';
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
/** Ada's team of this demonstration; there was another one before. */
let team: string;

beforeAll(async () => {
  await runInstep(['demo', '--once'], environment);
  demo = spawnInstep(['demo'], environment);
  await demo.writes(/until Ctrl-C/);
  [, url = ''] = /Console: (\S+)/.exec(demo.stdout) ?? [];
  [, team = ''] = /Why has (.*?) no plan\?/.exec(demo.stdout) ?? [];
});
afterAll(async () => {
  await demo?.stop('SIGINT');
});

test('why a team has no plan is found out within three clicks', async () => {
  const page = await browser.newPage();
  let clicks = 0;
  async function click(what: Locator): Promise<void> {
    await what.click();
    clicks += 1;
  }

  await page.goto(url);
  await click(page.getByRole('link', { name: 'Teams' }));
  await click(page.getByRole('link', { name: team }));
  const plan = page.getByRole('region', { name: 'The plan now' });
  const why = /no plan\s*Its subscription sub_\w+ was canceled\. It has no plan since \w{3} \d+/;
  await expect.poll(() => plan.textContent()).toMatch(why);
  expect(clicks).toBeLessThanOrEqual(3);
});

test('the charts move', async () => {
  const page = await browser.newPage();
  await page.goto(url);
  const chart = page.getByRole('region', { name: 'Events in each minute' });
  const applied = async () => await chart.textContent();
  const before = await applied();
  await expect.poll(applied, { timeout: 30_000 }).not.toBe(before);
});

test('a dry run finds the one payment that was never told', async () => {
  const page = await browser.newPage();
  await page.goto(`${url}reconcile`);
  await page.getByRole('button', { name: 'Start a dry run' }).click();
  const drifts = page.getByRole('row', { name: 'An event was missed.' });
  await drifts.first().waitFor();
  expect(await drifts.count()).toBe(1);
  expect(await page.getByText("Stripe does not know the team's customer.").count()).toBe(0);
  await drifts.getByRole('link').first().click();
  await page.getByText('Driftwood Couriers').waitFor();
});
