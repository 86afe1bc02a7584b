import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { axeViolations, expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

test('a dry run finds a missed event and changes nothing; the repair in the list asks first', async () => {
  const customerId = 'cus_lost';
  const subscriptionId = 'sub_lost';
  const teamId = await instep.addTeam('Lost', customerId);
  const createdSeconds = Math.floor(Date.now() / 1_000) - 600;
  await instep.happen({ customerId, subscriptionId, createdSeconds, status: 'trialing' });
  await instep.happen({ customerId, subscriptionId, status: 'active' }, 'missed');

  const page = await browser.newPage();
  await page.goto(`${instep.url}/reconcile`);
  await page.getByRole('button', { name: 'Start a dry run' }).click();
  const open = page.getByRole('link', { name: 'Repair 1 out of sync' });
  await open.waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const team = await browser.newPage();
  await team.goto(`${instep.url}/teams/${teamId}`);
  await expectText(team.locator('[data-status="has plan"]')).toContain('Pro (trialing)');

  await open.click();
  await page.getByRole('row', { name: 'Lost' }).getByRole('button', { name: 'Repair' }).click();
  await expectText(page.getByRole('row', { name: 'Lost' })).toContain('Pro (trialing)');
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Repair 1 team' }).click();
  await page.locator('[data-result=repaired]').waitFor();
  await team.reload();
  await expectText(team.locator('[data-status="has plan"]')).not.toContain('trialing');
});

test('without scripts a dry run is started and refreshed by hand', async () => {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(`${instep.url}/reconcile`);
  await page.getByRole('button', { name: 'Start a dry run' }).click();
  const refreshed = async () => {
    const refresh = page.getByRole('link', { name: 'Refresh' });
    if ((await refresh.count()) > 0) await refresh.click();
    return await page.locator('main').innerText();
  };
  await expect.poll(refreshed, { timeout: 15_000 }).toMatch(/Dry run, started .* finished /);
});
