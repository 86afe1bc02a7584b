import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { axeViolations, expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

/** Yesterday. */
const DAY = new Date(Date.now() - 24 * 60 * 60 * 1_000).toISOString().slice(0, 10);

/** 23:03 in Tokyo. */
const AT = `${DAY}T14:03:00Z`;

async function logEvents(): Promise<void> {
  await instep.database.query(
    `insert into instep.events (key, event_id, type, received_at, deliveries, outcome, body)
     select gen_random_uuid(), 'evt_' || minutes, 'customer.subscription.updated',
            $1::timestamptz + minutes * interval '1 minute', 1, 'unreadable', ''
       from generate_series(-60, 60) as minutes`,
    [AT],
  );
}

test("what happened between two times of the day takes 3 actions, in the reader's zone", async () => {
  await logEvents();
  const page = await browser.newPage({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' });
  await page.goto(`${instep.url}/`);
  await page.getByRole('link', { name: 'Events', exact: true }).click();
  await page.getByLabel('From (Asia/Tokyo)').fill(`${DAY}T23:00`);
  await page.getByLabel('Until (Asia/Tokyo)').fill(`${DAY}T23:10`);
  await page.getByRole('button', { name: 'Filter' }).click();
  const ids = page.locator('tbody td:nth-child(3)');
  await expect
    .poll(() => ids.allTextContents())
    .toEqual([6, 5, 4, 3, 2, 1, 0, -1, -2, -3].map((minutes) => `evt_${minutes}`));
  // The address means the same in every zone.
  expect(new URL(page.url()).searchParams.get('from')).toBe(`${DAY}T14:00`);
  const newest = page.locator('td time').first();
  expect(await newest.getAttribute('title')).toContain(`${DAY} 14:09:00`);
  expect(await page.getByLabel('From (Asia/Tokyo)').inputValue()).toBe(`${DAY}T23:00`);
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect.poll(() => ids.count()).toBe(10);
});

test('without scripts all times are in UTC, also those that are entered', async () => {
  const page = await browser.newPage({ timezoneId: 'Asia/Tokyo', javaScriptEnabled: false });
  await page.goto(`${instep.url}/events`);
  await page.getByLabel('From (UTC)').fill(`${DAY}T14:00`);
  await page.getByLabel('Until (UTC)').fill(`${DAY}T14:10`);
  await page.getByRole('button', { name: 'Filter' }).click();
  await expectText(page.getByRole('banner')).toContain('Times in UTC');
  expect(await page.locator('tbody tr').count()).toBe(10);
  expect(await page.locator('td time').first().getAttribute('title')).toContain(`${DAY} 14:09:00`);
});
