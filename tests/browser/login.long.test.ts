import { expect, test } from 'vitest';
import { openBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { axeViolations, expectText, useBrowser } from '../support/browser/browser.ts';
import { OPERATIONS_TOKEN } from '../support/secrets/test-secrets.ts';

const browser = useBrowser();
const instep = await openBrowsedInstep({ OPS_TOKEN: OPERATIONS_TOKEN });

test('a wrong token is rejected, and the right one leads to the requested page', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/?live=off`);
  expect(await page.title()).toBe('Log in · Instep');
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);

  // The field has the focus.
  await page.keyboard.type('not the token');
  await page.keyboard.press('Enter');
  await expectText(page).toContain('Wrong token.');
  expect(await page.getByLabel('Token').getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByLabel('Token').inputValue()).toBe('');
  expect(await axeViolations(page)).toEqual([]);

  await page.keyboard.type(OPERATIONS_TOKEN);
  await page.keyboard.press('Enter');
  await expectText(page.getByRole('heading', { level: 1 })).toBe('Overview');
  expect(page.url()).toBe(`${instep.url}/?live=off`);
});
