import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

test('a new event appears by itself, and the reader keeps place and focus', async () => {
  const page = await browser.newPage();
  await page.goto(instep.url);
  await expectText(page).toContain('No events yet');
  const stop = page.getByRole('link', { name: 'Stop updating' });
  await stop.focus();
  await page.evaluate('window.isTheSamePage = true');

  const customerId = 'cus_overview';
  await instep.addTeam('Overview', customerId);
  await instep.happen({ customerId });
  await expectText(page).toContain('Events of the last day');
  expect(await page.evaluate('window.isTheSamePage')).toBe(true);
  expect(await page.locator(':focus').innerText()).toBe('Stop updating');
});

test('the checks are loaded into the page, which keeps its title', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/?live=off`);
  await page.locator('#panel-checks').waitFor();
  expect(await page.title()).toBe('Overview · Instep');
});
