import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const browser = useBrowser();
const { database } = await createDatabase();
const pages = await openConsole(database, { basePath: '' });

beforeAll(async () => {
  const ingest = openPipeline(database);
  for (let index = 1; index <= 6; index += 1) {
    await ingest([receivedEvent({ customerId: `cus_${index}`, subscriptionId: `sub_${index}` })]);
    await addTeam(database.query, { name: `Team ${index}`, customerId: null });
  }
});

async function openPage(path: string): Promise<Page> {
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  await page.goto(pages.url + path);
  return page;
}

const checkedRows = (page: Page) => page.locator('tbody :checked').count();
const menuOf = (page: Page) => page.getByRole('dialog', { name: 'Commands' });
const chosenIn = async (page: Page) =>
  await page.getByRole('option', { selected: true }).textContent();

test('j, k, x and Enter move through rows, select them and open them', async () => {
  const page = await openPage('/attention');
  for (const key of ['j', 'x', 'j', 'j', 'k', 'x']) await page.keyboard.press(key);
  expect(
    await page
      .locator('tbody tr:not(.group)')
      .nth(1)
      .evaluate((row) => row.matches(':focus')),
  ).toBe(true);
  expect(await checkedRows(page)).toBe(2);
  expect(await page.getByRole('button', { name: 'Dismiss' }).last().isEnabled()).toBe(true);
  await page.keyboard.press('Enter');
  await page.waitForURL(/customer=cus_2/);
});

test('keys that a person types into a field stay there', async () => {
  const page = await openPage('/attention');
  await page.getByLabel('Team for customer:cus_1').pressSequentially('jkx?/');
  expect(await page.getByLabel('Team for customer:cus_1').inputValue()).toBe('jkx?/');
  expect(await checkedRows(page)).toBe(0);
});

test('with Shift, a click selects the rows between, or takes them back', async () => {
  const page = await openPage('/attention');
  const boxes = page.getByRole('checkbox');
  await boxes.nth(1).click();
  await boxes.nth(4).click({ modifiers: ['Shift'] });
  expect(await checkedRows(page)).toBe(4);
  await boxes.nth(4).click();
  await boxes.nth(2).click({ modifiers: ['Shift'] });
  expect(await checkedRows(page)).toBe(1);
});

test('the command menu goes to pages, and the focus returns when it is closed', async () => {
  const page = await openPage('/attention');
  await page.keyboard.press('j');
  await page.keyboard.press('Control+k');
  await menuOf(page).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  expect(
    await page
      .locator('tbody tr:not(.group)')
      .first()
      .evaluate((row) => row.matches(':focus')),
  ).toBe(true);
  await page.keyboard.press('Meta+k');
  await page.keyboard.type('go op');
  expect(await chosenIn(page)).toBe('Go to What operators did');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/actions$/);
});

test('the command menu has the actions of the page, those of the row with the focus too, and the search', async () => {
  const page = await openPage('/attention');
  await page.keyboard.press('Control+k');
  const names = async () => await page.getByRole('option').allTextContents();
  const without = await names();
  expect(without).toContain('Select all rows');
  // Nothing is selected, and no team is entered.
  for (const name of ['Dismiss', 'Link team']) expect(without).not.toContain(name);
  await page.keyboard.press('Escape');
  await menuOf(page).waitFor({ state: 'hidden' });
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.keyboard.press('Control+k');
  expect(await names()).toContain('Link team: cus_1');
  await page.keyboard.press('ArrowDown');
  const second = await chosenIn(page);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  expect(await chosenIn(page)).toBe('Go to Checks');
  expect(second).not.toBe('Go to Checks');
  await page.keyboard.type('dismiss');
  await page.keyboard.press('Enter');
  await page.locator('[data-result=dismissed]').waitFor();

  await page.keyboard.press('Control+k');
  await page.keyboard.type('Team 3');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/teams\/3$/);
});

test('the help lists the keys, and turns off those without Ctrl', async () => {
  const page = await openPage('/attention');
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await help.getByLabel('Use keys without Ctrl').uncheck();
  await help.getByRole('button', { name: 'Close' }).click();
  await page.keyboard.press('j');
  expect(await page.locator('tr:focus').count()).toBe(0);
  await page.reload();
  await page.keyboard.press('j');
  expect(await page.locator('tr:focus').count()).toBe(0);
  await page.keyboard.press('Control+k');
  await menuOf(page).waitFor();
});
