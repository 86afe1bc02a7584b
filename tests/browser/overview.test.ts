import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

test('an event that is posted shows by itself, and the reader loses neither place nor focus', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/?range=day`);
  await page.getByText('No events yet').waitFor();
  const lastWeek = page.getByRole('link', { name: 'Last week' });
  await lastWeek.focus();
  await page.evaluate('window.isTheSamePage = true');

  const customerId = 'cus_overview';
  await instep.addTeam('Overview', customerId);
  await instep.happen({ customerId });
  await page.getByRole('heading', { name: 'Delivery delay' }).waitFor();
  expect(await page.evaluate('window.isTheSamePage')).toBe(true);
  expect(page.url()).toContain('range=day');
  expect(await page.locator(':focus').textContent()).toBe('Last week');
});

test('what the charts show is there as figures too', async () => {
  const page = await browser.newPage();
  await page.goto(instep.url);
  const charts = page.getByRole('img');
  expect(await charts.count()).toBeGreaterThanOrEqual(2);
  for (const chart of await charts.all()) {
    const [name] = await Promise.all([chart.getAttribute('aria-labelledby')]);
    expect(name).not.toBeNull();
  }
});

test('an event whose team is unknown is told there, and leads to itself', async () => {
  await instep.happen({ eventId: 'evt_parked', customerId: 'cus_without_a_team' });
  const page = await browser.newPage();
  await page.goto(instep.url);
  const facts = page.getByRole('region', { name: 'Out of step' });
  await facts.getByRole('link', { name: '1', exact: true }).click();
  await page.getByRole('link', { name: 'evt_parked' }).waitFor();
  expect(await page.getByRole('cell', { name: 'parked', exact: true }).count()).toBe(1);
});
