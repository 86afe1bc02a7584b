import type { ApplicationId } from 'instep/src/core/application.ts';
import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { expectText, useBrowser } from '../support/browser/browser.ts';
import { someOf } from '../support/test-length.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

const NOW_SECONDS = Math.floor(Date.now() / 1_000);

const FOUND_BY: [what: string, textFor: (id: ApplicationId) => string][] = [
  ['part of its name', () => 'larkspur'],
  ['its customer', () => 'cus_larkspur'],
  ['its subscription', () => 'sub_larkspur'],
  ['its id', (id) => String(id)],
];

test.each(someOf(2, FOUND_BY))('a team is found by %s', async (_, textFor) => {
  const team = await addLarkspur();
  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams`);
  const field = page.getByRole('main').getByRole('searchbox');
  await field.fill(textFor(team));
  await field.press('Enter');
  await page.getByRole('link', { name: 'Larkspur Bindery' }).click();
  await expectText(page.getByRole('heading', { level: 1 })).toBe(`Larkspur Bindery Team ${team}`);
  expect(await page.title()).toBe(`Larkspur Bindery · Team ${team} · Instep`);
  await page.locator('[data-status="has plan"]').waitFor();
});

let added: Promise<ApplicationId> | undefined;

/** Adds a team with a plan, among others. */
function addLarkspur(): Promise<ApplicationId> {
  added ??= (async () => {
    for (const name of ['Anemone', 'Foxglove']) await instep.addTeam(name);
    const customerId = 'cus_larkspur';
    const id = await instep.addTeam('Larkspur Bindery', customerId);
    await instep.happen({ customerId, subscriptionId: 'sub_larkspur' });
    return id;
  })();
  return added;
}

test('a stale event says why, on its own page and on that of its team', async () => {
  const customerId = 'cus_late';
  const teamId = await instep.addTeam('Late', customerId);
  const at = (secondsAgo: number) => ({ createdSeconds: NOW_SECONDS - secondsAgo, customerId });
  await instep.happen({ ...at(60), eventId: 'evt_newer' });
  await instep.happen({ ...at(300), eventId: 'evt_older', status: 'unpaid' });
  const reason = /had already arrived: evt_newer, created/;

  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams/${teamId}`);
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'evt_older' }) });
  expect(await row.innerText()).toMatch(reason);
  await row.getByRole('link', { name: 'evt_older' }).click();
  const decision = page.getByRole('region', { name: 'Decision' });
  await expectText(decision).toMatch(reason);
  expect(await decision.innerText()).toContain('stale');
});

test('a team that missed an event is compared with Stripe, then repaired', async () => {
  const customerId = 'cus_missed';
  const teamId = await instep.addTeam('Missed', customerId);
  const subscriptionId = 'sub_missed';
  const trial = { customerId, subscriptionId, createdSeconds: NOW_SECONDS - 600 };
  await instep.happen({ ...trial, status: 'trialing' });
  await instep.happen({ customerId, subscriptionId, status: 'active' }, 'missed');

  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams/${teamId}`);
  await expectText(page.locator('[data-status="has plan"]')).toContain('Pro (trialing)');
  await page.getByRole('button', { name: 'Compare with Stripe' }).click();
  await expectText(page).toMatch(/An event was missed\. sub_missed/);
  await page.getByRole('button', { name: 'Repair this team' }).click();
  await page.locator('[data-result=repaired]').waitFor();
  const plan = page.locator('[data-status="has plan"]');
  expect(await plan.innerText()).not.toContain('trialing');
});
