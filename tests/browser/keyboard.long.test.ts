import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { openBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { axeViolations, expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = await openBrowsedInstep();

const teamId = await instep.addTeam('Keyed', 'cus_keys');
await instep.happen({ customerId: 'cus_keys', eventId: 'evt_keys' });
for (const number of [1, 2, 3]) await instep.happen({ customerId: `cus_${number}` });

async function openPage(path: string): Promise<Page> {
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  await page.goto(instep.url + path);
  return page;
}

describe('Tab', () => {
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
    ['the overview', '/?live=off'],
    ['what needs attention', '/attention'],
    ['a team', `/teams/${teamId}`],
    ['the events', '/events'],
    ['comparing', '/compare'],
  ])('goes through %s in order, with a visible focus', async (_, path) => {
    const stops = await stopsOn(await openPage(path));
    const areas = ['Skip to content', 'Overview', 'Attention', 'Teams', 'Events'];
    expect(stops.map(({ name }) => name).slice(0, 5)).toEqual(areas);
    expect(stops.filter(({ isSeen, isInOrder }) => !isSeen || !isInOrder)).toEqual([]);
    expect(stops.length).toBeGreaterThan(5);
  });

  test('reaches a link first that skips the navigation', async () => {
    const page = await openPage('/teams');
    for (const key of ['Tab', 'Enter', 'Tab']) await page.keyboard.press(key);
    expect(await page.locator(':focus').getAttribute('type')).toBe('search');
  });
});

test('j, k, x and Enter move through rows, select them and open them', async () => {
  const page = await openPage('/attention');
  for (const key of ['j', 'x', 'j', 'j', 'k', 'x']) await page.keyboard.press(key);
  const second = page.locator('tbody tr').nth(1);
  expect(await second.evaluate((row) => row.matches(':focus'))).toBe(true);
  expect(await page.locator('tbody :checked').count()).toBe(2);
  expect(await page.getByRole('button', { name: 'Dismiss' }).last().isEnabled()).toBe(true);
  await page.keyboard.press('Enter');
  await page.waitForURL(/search=customer%3Acus_2/);
});

test('keys that a person types into a field stay there', async () => {
  const page = await openPage('/attention');
  const field = page.getByLabel('Team for customer:cus_1');
  await field.pressSequentially('jkx?/');
  expect(await field.inputValue()).toBe('jkx?/');
  expect(await page.locator('tbody :checked').count()).toBe(0);
});

test('/ focuses the search, which opens an exact hit at once', async () => {
  const page = await openPage('/');
  for (const [text, heading] of [
    ['evt_keys', 'Event evt_keys'],
    ['keyed', `Keyed Team ${teamId}`],
  ] as const) {
    await page.keyboard.press('/');
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
    await expectText(page.getByRole('heading', { level: 1 })).toBe(heading);
  }
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
