import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
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

test('j, k, x and Enter move through rows, select them and open them', async () => {
  const page = await openPage('/attention');
  for (const key of ['j', 'x', 'j', 'j', 'k', 'x']) await page.keyboard.press(key);
  expect(
    await page
      .locator('tbody tr')
      .nth(1)
      .evaluate((row) => row.matches(':focus')),
  ).toBe(true);
  expect(await checkedRows(page)).toBe(2);
  expect(await page.getByRole('button', { name: 'Dismiss' }).last().isEnabled()).toBe(true);
  await page.keyboard.press('Enter');
  await page.waitForURL(/search=customer%3Acus_2/);
});

test('keys that a person types into a field stay there', async () => {
  const page = await openPage('/attention');
  await page.getByLabel('Team for customer:cus_1').pressSequentially('jkx?/');
  expect(await page.getByLabel('Team for customer:cus_1').inputValue()).toBe('jkx?/');
  expect(await checkedRows(page)).toBe(0);
});

test('the help lists the keys, and turns them off', async () => {
  const page = await openPage('/attention');
  await page.getByText('Keys', { exact: true }).click();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByLabel('Use these keys').uncheck();
  await page.reload();
  await page.keyboard.press('j');
  expect(await page.locator('tr:focus').count()).toBe(0);
});
