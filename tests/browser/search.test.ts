import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { expectText, useBrowser } from '../support/browser/browser.ts';

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
  const field = page.getByRole('main').getByRole('searchbox').first();
  await field.focus();
  await page.keyboard.type('a/b');
  expect(await field.inputValue()).toBe('a/b');
});
