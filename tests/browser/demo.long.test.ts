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
