import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { axeViolations, expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

test('/ focuses the search, which opens an exact hit at once', async () => {
  const id = await instep.addTeam('Searched', 'cus_searched');
  await instep.happen({ eventId: 'evt_searched', customerId: 'cus_searched' });
  const page = await browser.newPage();
  await page.goto(instep.url);
  for (const [text, heading] of [
    ['cus_searched', `Searched Team ${id}`],
    ['evt_searched', 'Event evt_searched'],
    ['searched', `Searched Team ${id}`],
  ] as const) {
    await page.keyboard.press('/');
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
    await expectText(page.getByRole('heading', { level: 1 })).toBe(heading);
  }
});

test('/ is a character in a text field', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams`);
  const field = page.getByRole('main').getByRole('searchbox');
  await field.focus();
  await page.keyboard.type('a/b');
  expect(await field.inputValue()).toBe('a/b');
});

test('a customer who paid but has no team is found with 1 search', async () => {
  await instep.happen({ eventId: 'evt_paid', customerId: 'cus_paid' });
  const page = await browser.newPage();
  await page.goto(instep.url);
  await page.keyboard.press('/');
  await page.keyboard.type('cus_paid');
  await page.keyboard.press('Enter');
  await expectText(page).toMatch(
    /No team is linked to customer cus_paid\.[\s\S]*waiting for a team\s+evt_paid/,
  );
  expect(await axeViolations(page)).toEqual([]);
});

test('the search works without scripts', async () => {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(`${instep.url}/events`);
  const box = page.getByRole('banner').getByRole('searchbox');
  await box.fill('nothing like it');
  await box.press('Enter');
  await expectText(page).toContain('Nothing found');
});
