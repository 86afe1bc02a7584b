import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, useBrowser } from '../support/browser/browser.ts';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const NOW_MS = Date.UTC(2026, 9, 14, 15, 30, 20);
const SLOTS = 96;

const browser = useBrowser();
let pages: ConsoleService;
const nowMs = NOW_MS;

beforeAll(async () => {
  const { database } = await createDatabase();
  await addTeam(database.query, { name: 'Charts', customerId: 'cus_charts' });
  const ingest = openPipeline(database);
  const createdSeconds = NOW_MS / 1_000 - 20 * 60;
  const event = receivedEvent({ customerId: 'cus_charts', createdSeconds });
  await ingest([{ ...event, receivedAtMs: createdSeconds * 1_000 + 400 }]);
  pages = await openConsole(database, { now: () => nowMs });
});

async function openOverview(options = {}, path = '/?live=off'): Promise<Page> {
  const page = await browser.newPage({ timezoneId: 'Asia/Tokyo', locale: 'en-GB', ...options });
  await page.goto(pages.url + path);
  return page;
}

/** The middle of a slot of the chart, on the page. */
async function pointOf(page: Page, slot: number): Promise<{ x: number; y: number }> {
  const box = await page.locator('.plot').boundingBox();
  if (box === null) throw new Error('the chart is not visible');
  return { x: box.x + ((slot + 0.5) * box.width) / SLOTS, y: box.y + box.height / 2 };
}

test.each([true, false])(
  'a click on a bar shows its events; scripts: %s',
  async (javaScriptEnabled) => {
    const page = await openOverview({ javaScriptEnabled });
    if (javaScriptEnabled) {
      expect(await page.locator('.ticks text').allTextContents()).toEqual([
        '03:00',
        '09:00',
        '15:00',
        '21:00',
      ]);
      expect(await axeViolations(page)).toEqual([]);
    }
    const { x, y } = await pointOf(page, 93);
    await page.mouse.click(x, y);
    await page.waitForURL(/\/events\?from=2026-10-14T15%3A00&until=2026-10-14T15%3A15$/);
  },
);
