import type { ApplicationId } from 'instep';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { expectText, overhang, targetViolations, useBrowser } from '../support/browser/browser.ts';
import { layoutProblems } from '../support/browser/layout.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

let teamId: ApplicationId = 0;
let parked = 0;

beforeAll(async () => {
  teamId = await instep.addTeam('Look', 'cus_look');
  const subscription = { customerId: 'cus_look', subscriptionId: 'sub_look' };
  await instep.happen({ ...subscription, eventId: 'evt_first' });
  // Three events that leave the plan as it was are one row of the timeline.
  for (const eventId of ['evt_a', 'evt_b', 'evt_c'])
    await instep.happen({ ...subscription, eventId });
  await instep.happen({
    customerId: 'cus_waits',
    subscriptionId: 'sub_waits',
    eventId: 'evt_waits',
  });
  const odd = { id: 'evt_odd', type: 'customer.subscription.updated', data: { object: 7 } };
  await instep.post(JSON.stringify(odd));
  const [event] = await instep.database.query<{ position: number }>(
    "select position from instep.events where event_id = 'evt_waits'",
  );
  parked = event?.position ?? 0;
});

const PATHS = {
  overview: () => '/?live=off',
  attention: () => '/attention?select=all',
  team: () => `/teams/${teamId}`,
  'a filtered log': () => '/events?search=cus_look&from=2026-01-01T00:00&outcome=applied',
  event: () => `/events/${parked}`,
  actions: () => '/actions',
};

describe.each(Object.entries(PATHS))('%s', (_, path) => {
  test.each([
    ['820 px', 820],
    ['390 px', 390],
    ['1,440 px at 200 %', 720],
    ['1,280 px at 200 %', 640],
  ])('has everything in view at %s, and targets for a finger', async (_, width) => {
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    await page.goto(instep.url + path());
    expect(await overhang(page)).toBe(0);
    expect(await layoutProblems(page)).toEqual([]);
    expect(await targetViolations(page)).toEqual([]);
  });
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
