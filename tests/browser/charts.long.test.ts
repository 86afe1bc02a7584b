import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, expectText, PHONE, useBrowser } from '../support/browser/browser.ts';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const NOW_MS = Date.UTC(2026, 9, 14, 15, 30, 20);
const SLOTS = 60;

const browser = useBrowser();
let nowMs = NOW_MS;
let pages: ConsoleService;

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

const readout = (page: Page) => page.locator('.readout').innerText();

test('a crosshair follows the mouse, and a click shows the events', async () => {
  const page = await openOverview();
  expect(await page.locator('.ticks span').allTextContents()).toEqual(
    expect.arrayContaining(['23:45', '00:00', '00:15', '00:30']),
  );
  const { x, y } = await pointOf(page, 39);
  await page.mouse.move(x, y);
  expect(await readout(page)).toBe('The minute from 15 Oct 2026, 00:10: 1 applied');
  await page.mouse.move(...(Object.values(await pointOf(page, 0)) as [number, number]));
  expect(await readout(page)).toBe('The minute from 14 Oct 2026, 23:31: no events');
  await page.mouse.click(x, y);
  await page.waitForURL(/\/events\?from=2026-10-14T15%3A10&until=2026-10-14T15%3A11$/);
});

test('the arrow keys move it, Enter shows the events, and a refresh leaves it at its time', async () => {
  const page = await openOverview({}, '/');
  const events = page.getByRole('slider', { name: 'Events per minute, by outcome: time' });
  await events.focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  expect(await events.inputValue()).toBe('57');
  expect(await events.getAttribute('aria-valuetext')).toBe(
    'The minute from 15 Oct 2026, 00:28: no events',
  );

  await page.evaluate('document.querySelector("#overview").dataset.old = "yes"');
  nowMs = NOW_MS + 60_000;
  await expect
    .poll(() => page.locator('#overview').getAttribute('data-old'), { timeout: 15_000 })
    .toBeNull();
  nowMs = NOW_MS;
  expect(await events.inputValue()).toBe('56');
  expect(await readout(page)).toBe('The minute from 15 Oct 2026, 00:28: no events');
  expect(await page.evaluate('document.activeElement.id')).toBe('crosshair');
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/events\?from=2026-10-14T15%3A28&until=2026-10-14T15%3A29$/);
});

test('the first touch shows what a bar holds, and the second one its events', async () => {
  const page = await openOverview({ viewport: PHONE, hasTouch: true, isMobile: true });
  await page.locator('.plot').scrollIntoViewIfNeeded();
  const { x, y } = await pointOf(page, 39);
  await page.touchscreen.tap(x, y);
  await expectText(page.locator('.readout')).toContain('1 applied');
  expect(page.url()).toContain('/?live=off');
  await page.touchscreen.tap(x, y);
  await page.waitForURL(/\/events\?from=2026-10-14T15%3A10/);
});

test('without scripts a click on a bar shows its events, and nothing covers the chart', async () => {
  const page = await openOverview({ javaScriptEnabled: false });
  expect(await page.locator('.crosshair').isVisible()).toBe(false);
  const { x, y } = await pointOf(page, 39);
  await page.mouse.click(x, y);
  await page.waitForURL(/\/events\?from=2026-10-14T15%3A10/);
});

test("a part of the band with the team's plans jumps to the row that it began with", async () => {
  const page = await openOverview({}, '/teams/1');
  await page.getByRole('figure').getByRole('link', { name: 'prod_1' }).first().focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/#item-\d+$/);
  expect(await page.locator('tr:has(:target)').innerText()).toContain('prod_1');
  expect(
    await page.evaluate('getComputedStyle(document.querySelector("tr:has(:target)")).outlineStyle'),
  ).toBe('solid');
});
