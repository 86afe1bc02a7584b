import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { seriousFaults, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

test('a dry run finds what was lost and changes nothing; repairing asks first, and repairs', async () => {
  const customerId = 'cus_lost';
  const subscriptionId = 'sub_lost';
  const teamId = await instep.addTeam('Lost', customerId);
  const createdSeconds = Math.floor(Date.now() / 1_000) - 600;
  await instep.happen({ customerId, subscriptionId, createdSeconds, status: 'trialing' });
  await instep.happen({ customerId, subscriptionId, status: 'active' }, 'missed');

  const page = await browser.newPage();
  await page.goto(`${instep.url}/reconcile`);
  await page.getByRole('button', { name: 'Start a dry run' }).click();
  await page.getByText('An event was missed.').waitFor();
  expect(await page.getByRole('row', { name: /trialing.*active/ }).count()).toBe(1);
  expect(await seriousFaults(page)).toEqual([]);
  const team = await browser.newPage();
  await team.goto(`${instep.url}/teams/${teamId}`);
  await team.getByText('It has Pro (trialing) since').waitFor();

  await page.getByRole('link', { name: /^Repair 1 team/ }).click();
  await page.getByRole('heading', { name: 'Repair what has drifted?' }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole('button', { name: 'Compare and repair' }).click();
  await page.getByText('1 repaired').waitFor();
  await team.reload();
  await team.getByText('It has Pro since').waitFor();
});

test('without a script a dry run is started, and looked after, by hand', async () => {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(`${instep.url}/reconcile`);
  await page.getByRole('button', { name: 'Start a dry run' }).click();
  const done = async () => {
    const lookAgain = page.getByRole('link', { name: 'Look again' });
    if ((await lookAgain.count()) > 0) await lookAgain.click();
    return await page.locator('main').textContent();
  };
  await expect.poll(done).toMatch(/Dry run\s*Began .* Done /);
});
