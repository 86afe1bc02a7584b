import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

beforeAll(async () => {
  await instep.happen({ customerId: 'cus_waits', subscriptionId: 'sub_waits' });
});

test('ages count on, and have the exact time', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/attention?issue=parked-events`);
  const since = page.getByRole('row', { name: 'cus_waits' }).locator('time');
  await expectText(since).toMatch(/^\d+\s(?:s|min)\sago$/);
  const exactMs = Date.parse((await since.getAttribute('datetime')) ?? '');
  expect(Date.parse((await since.getAttribute('title')) ?? '')).toBe(exactMs);
  await page.evaluate('Date.now = () => new Date().getTime() + 3 * 3_600_000; showTimes()');
  await expectText(since).toMatch(/^3\sh\sago$/);
  await page.evaluate('Date.now = () => new Date().getTime() + 3 * 86_400_000; showTimes()');
  await expectText(since).toMatch(/20\d\d/);
});

describe('without scripts', () => {
  const open = async (path: string): Promise<Page> => {
    const page = await browser.newPage({ javaScriptEnabled: false });
    await page.goto(instep.url + path);
    return page;
  };
  const done = (page: Page, result: string) => page.locator(`[data-result="${result}"]`).waitFor();

  test('a customer is dismissed, restored and linked', async () => {
    await instep.happen({ customerId: 'cus_plain', subscriptionId: 'sub_plain' });
    const plain = await instep.addTeam('Plain');
    const page = await open('/attention?issue=parked-events');
    const row = page.getByRole('row', { name: 'cus_plain' });
    await row.getByRole('checkbox').check();
    await page.locator('.toolbar').getByRole('button', { name: 'Dismiss' }).click();
    await page.getByRole('button', { name: 'Dismiss 1 issue' }).click();
    await done(page, 'dismissed');
    await page.getByRole('button', { name: 'Restore' }).click();
    await done(page, 'restored');
    await page.goto(`${instep.url}/attention?issue=parked-events`);
    await page.getByLabel('Team for customer:cus_plain').fill(String(plain));
    await row.getByRole('button', { name: 'Link team' }).click();
    await done(page, 'linked');
    await page.goto(`${instep.url}/teams/${plain}`);
    await page.locator('[data-status="has plan"]').waitFor();
  });
});
