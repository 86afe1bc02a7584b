import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, expectText, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

const NOW_MS = Date.UTC(2026, 9, 14, 15, 30, 20);
const DAY = '2026-10-14';

const browser = useBrowser();
const { database } = await createDatabase();
const pages = await openConsole(database, { now: () => NOW_MS });

// One a minute, until 23:59 in Tokyo.
beforeAll(() =>
  database.query(
    `insert into instep.events (key, event_id, type, received_at, deliveries, outcome, body)
     select gen_random_uuid(), 'evt_' || minutes, 'customer.subscription.updated',
            $1::timestamptz + minutes * interval '1 minute', 1, 'unreadable', ''
       from generate_series(0, 59) as minutes`,
    [`${DAY}T14:00:00Z`],
  ),
);

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage({ timezoneId: 'Asia/Tokyo', locale: 'en-GB', ...options });
  await page.goto(pages.url + path);
  return page;
}

async function filter(page: Page, zone: string, hour: string): Promise<void> {
  await page.getByLabel(`From (${zone})`).fill(`${DAY}T${hour}:00`);
  await page.getByLabel(`Until (${zone})`).fill(`${DAY}T${hour}:10`);
  await page.getByRole('button', { name: 'Filter' }).click();
}

test("what happened between two times of the day takes 3 actions, in the reader's zone", async () => {
  const page = await open('/events');
  await filter(page, 'Asia/Tokyo', '23');
  const ids = page.locator('tbody td:nth-child(3)');
  await expect
    .poll(() => ids.allTextContents())
    .toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((minutes) => `evt_${minutes}`));
  // The address means the same in every zone.
  expect(new URL(page.url()).searchParams.get('from')).toBe(`${DAY}T14:00`);
  expect(await page.locator('td time').first().getAttribute('title')).toContain(`${DAY} 14:09:00`);
  expect(await page.getByLabel('From (Asia/Tokyo)').inputValue()).toBe(`${DAY}T23:00`);
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect.poll(() => ids.count()).toBe(10);
});

test('without scripts all times are in UTC, also those that are entered', async () => {
  const page = await open('/events', { javaScriptEnabled: false });
  await filter(page, 'UTC', '14');
  await expectText(page.getByRole('banner')).toContain('Times in UTC');
  expect(await page.locator('tbody tr').count()).toBe(10);
  expect(await page.locator('td time').first().getAttribute('title')).toContain(`${DAY} 14:09:00`);
});

test('ages count on, and have the exact time', async () => {
  const page = await open('/events');
  const newest = page.locator('td time').first();
  expect(Date.parse((await newest.getAttribute('title')) ?? '')).toBe(
    Date.parse(`${DAY}T14:59:00Z`),
  );
  for (const [later, shown] of [
    [0, /^31\smin\sago$/],
    [2 * 3_600_000, /^3\sh\sago$/],
    [3 * 86_400_000, /14 Oct 2026, 23:59/],
  ] as const) {
    await page.evaluate(`Date.now = () => new Date().getTime() + ${later}; showTimes()`);
    await expectText(newest).toMatch(shown);
  }
});

const SLOTS = 96;

test.each([true, false])(
  'a click on a bar of the chart shows its events; scripts: %s',
  async (javaScriptEnabled) => {
    const page = await open('/?live=off', { javaScriptEnabled });
    if (javaScriptEnabled) {
      const ticks = await page.locator('.ticks text').allTextContents();
      expect(ticks).toEqual(['03:00', '09:00', '15:00', '21:00']);
      expect(await axeViolations(page)).toEqual([]);
    }
    const box = await page.locator('.plot').boundingBox();
    if (box === null) throw new Error('the chart is not visible');
    await page.mouse.click(box.x + (93.5 * box.width) / SLOTS, box.y + box.height / 2);
    await page.waitForURL(/\/events\?from=2026-10-14T15%3A00&until=2026-10-14T15%3A15$/);
  },
);
