import { expect, test } from 'vitest';
import { overhang, PHONE, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const CUSTOMER = 'cus_00000000000000000000000000abcdef';

const browser = useBrowser();

const { database } = await createDatabase();
await addTeam(database.query, { name: 'Tables', customerId: CUSTOMER });
await addTeam(database.query, { name: 'Another team', customerId: null });
const parked = Array.from({ length: 20 }, (_, index) =>
  receivedEvent({ customerId: `cus_parked_${index}` }),
);
await openPipeline(database)(parked);
const events = Array.from({ length: 60 }, (_, index) =>
  receivedEvent({
    customerId: CUSTOMER,
    eventId: `evt_${String(index).padStart(28, '0')}`,
    createdSeconds: 1_790_000_000 + index,
  }),
);
await openPipeline(database)(events);
const pages = await openConsole(database);

test.each([1_280, 1_440])('the outcome is in view and headers stay, at %d px', async (width) => {
  const page = await browser.newPage({ viewport: { width, height: 700 } });
  await page.goto(`${pages.url}/events`);
  await page.mouse.wheel(0, 1_200);
  const header = page.getByRole('columnheader', { name: 'Outcome' });
  await expect.poll(async () => (await header.boundingBox())?.y).toBe(0);
  const table = await page.getByRole('table').boundingBox();
  expect(table?.width).toBeGreaterThan(width * 0.85);
  expect(await overhang(page)).toBe(0);
});

test.each([
  ['the links to other pages', '/events', '.pages', 'td:nth-child(3) a'],
  [
    'the buttons for selected rows',
    '/attention?select=all',
    '.toolbar',
    'td input[type="checkbox"]',
  ],
])('on a phone %s stay in view, below what has the focus', async (_, path, sticky, focused) => {
  const page = await browser.newPage({ viewport: PHONE });
  await page.goto(pages.url + path);
  const [buttons, elements] = [page.locator(sticky), page.locator(focused)];
  const last = (await elements.count()) - 1;
  expect(last).toBeGreaterThan(15);
  for (const index of [0, 5, last - 1, last, 10]) {
    await elements.nth(index).focus();
    const bar = await buttons.boundingBox();
    const box = await elements.nth(index).boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
    expect((bar?.y ?? 0) + (bar?.height ?? 0)).toBeLessThanOrEqual(PHONE.height);
    expect(bar?.height).toBeLessThan(PHONE.height / 4);
  }
  expect(await overhang(page)).toBe(0);
});
