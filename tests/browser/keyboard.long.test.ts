import type { ApplicationId } from 'instep';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

let teamId: ApplicationId;
beforeAll(async () => {
  const customerId = 'cus_keys';
  teamId = await instep.addTeam('Keyed', customerId);
  await instep.happen({ customerId, eventId: 'evt_keys' });
});

type Stop = { readonly name: string; readonly isSeen: boolean; readonly isInOrder: boolean };

/**
 * The element that has the focus after Tab; `null` when the focus has left the page. A part of the same
 * field, such as the calendar of a date, has an outline that the browser draws.
 */
const STOP = `(() => {
  const [before, now] = [window.lastStop ?? document.body, document.activeElement];
  if (now === document.body || now === null) return null;
  window.lastStop = now;
  const { outlineStyle, outlineWidth } = getComputedStyle(now);
  const { width, height, right } = now.getBoundingClientRect();
  const isPart = before === now;
  const order = before.compareDocumentPosition(now);
  return {
    name: now.textContent.trim() || now.getAttribute('aria-label') || now.labels?.[0]?.textContent,
    isSeen:
      isPart ||
      (outlineStyle !== 'none' && outlineWidth !== '0px' && width * height > 0 && right > 0),
    isInOrder: isPart || (order & Node.DOCUMENT_POSITION_FOLLOWING) !== 0,
  };
})()`;

const MAX_STOPS = 200;

/** Every element that Tab reaches, in order. */
async function stopsOn(page: Page): Promise<Stop[]> {
  const stops: Stop[] = [];
  while (stops.length < MAX_STOPS) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate<Stop | null>(STOP);
    if (stop === null) return stops;
    stops.push(stop);
  }
  throw new Error('the focus never leaves the page');
}

test.each([
  ['the overview', () => '/?live=off'],
  ['the teams', () => '/teams'],
  ['a team', () => `/teams/${teamId}`],
  ['the events', () => '/events'],
  ['comparing', () => '/compare'],
])('Tab goes through %s in order, with a visible focus', async (_, path) => {
  const page = await browser.newPage();
  await page.goto(instep.url + path());
  const stops = await stopsOn(page);
  expect(stops.map(({ name }) => name).slice(0, 5)).toEqual([
    'Skip to content',
    'Overview',
    'Attention',
    'Teams',
    'Events',
  ]);
  expect(stops.filter(({ isSeen }) => !isSeen)).toEqual([]);
  expect(stops.filter(({ isInOrder }) => !isInOrder)).toEqual([]);
  expect(stops.length).toBeGreaterThan(5);
});

test('the skip link moves the focus past the navigation', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams`);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  const focused = page.locator(':focus');
  expect(await focused.getAttribute('type')).toBe('search');
});
