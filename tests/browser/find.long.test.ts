import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import {
  axeViolations,
  expectText,
  overhang,
  PHONE,
  useBrowser,
} from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

const NOW_SECONDS = Math.floor(Date.now() / 1_000);

async function addUnpaid(name: string, productId: string): Promise<void> {
  const customerId = `cus_${name}`;
  await instep.addTeam(name, customerId);
  const event = { customerId, subscriptionId: `sub_${name}`, productId };
  await instep.happen({ ...event, createdSeconds: NOW_SECONDS - 600 });
  await instep.happen({ ...event, createdSeconds: NOW_SECONDS - 60, status: 'unpaid' });
}

test('all unpaid teams that were on Pro take 2 clicks, also without scripts', async () => {
  for (const name of ['Anemone', 'Begonia']) await addUnpaid(name, 'prod_pro');
  await addUnpaid('Crocus', 'prod_basic');
  const page = await browser.newPage({ javaScriptEnabled: false });
  const counts = page.getByRole('region', { name: 'Teams by status' });
  await expect
    .poll(async () => {
      await page.goto(`${instep.url}/?live=off`);
      return await counts.first().innerText();
    })
    .toMatch(/unpaid\s+3/);
  await counts.getByRole('link', { name: 'unpaid' }).click();
  const teams = page.getByRole('region', { name: 'Teams' }).getByRole('row');
  await teams.getByRole('link', { name: 'was Pro', exact: true }).first().click();
  await expect.poll(() => teams.count()).toBe(3);
  expect(await teams.nth(1).innerText()).toMatch(/Anemone[\s\S]*unpaid[\s\S]*was Pro/);
  expect(await teams.nth(2).innerText()).toMatch(/Begonia/);
});

test('the filters are accessible, and fit a phone', async () => {
  await addUnpaid('Dahlia', 'prod_pro');
  const page = await browser.newPage({ reducedMotion: 'reduce', viewport: PHONE });
  await page.goto(`${instep.url}/teams?status=unpaid&plan=Pro`);
  await expectText(page).toContain('Dahlia');
  expect(await axeViolations(page)).toEqual([]);
  expect(await overhang(page)).toBe(0);
});
