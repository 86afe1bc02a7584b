import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { seriousFaults, useBrowser } from '../support/browser/browser.ts';
import { OPERATIONS_TOKEN } from '../support/secrets/canaries.ts';

const browser = useBrowser();
const instep = useBrowsedInstep({ OPS_TOKEN: OPERATIONS_TOKEN });

test('a wrong token is told to be wrong, the right one leads to where one wanted to go', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/?range=day`);
  expect(await page.title()).toBe('Log in · Instep');
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect(await seriousFaults(page)).toEqual([]);

  // The field has the focus: somebody types and presses Enter.
  await page.keyboard.type('not the token');
  await page.keyboard.press('Enter');
  await page.getByText('That is not OPS_TOKEN.').waitFor();
  expect(await page.getByLabel('Token').getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByLabel('Token').inputValue()).toBe('');
  expect(await seriousFaults(page)).toEqual([]);

  await page.keyboard.type(OPERATIONS_TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(page.url()).toBe(`${instep.url}/?range=day`);
});

test('nobody else is in by it, and whoever logs out is out', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/login`);
  await page.getByLabel('Token').fill(OPERATIONS_TOKEN);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const scripts = await page.evaluate<string>('document.cookie');
  expect(scripts).toBe('');

  const other = await browser.newPage();
  await other.goto(instep.url);
  expect(await other.title()).toBe('Log in · Instep');

  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await page.goBack();
  await page.reload();
  expect(await page.title()).toBe('Log in · Instep');
});

test('without a script it is the same', async () => {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(instep.url);
  await page.getByLabel('Token').fill('not the token');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('That is not OPS_TOKEN.').waitFor();
  await page.getByLabel('Token').fill(OPERATIONS_TOKEN);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});
