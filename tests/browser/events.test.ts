import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

test('a parked event that is replayed when its team has come is applied', async () => {
  const customerId = 'cus_parked';
  await instep.happen({ eventId: 'evt_parked', customerId });
  const page = await browser.newPage();
  await page.goto(`${instep.url}/events?outcome=parked`);
  await page.getByRole('link', { name: 'evt_parked' }).click();
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('It is still parked: no team has its customer.').waitFor();

  const id = await instep.addTeam('Parked', customerId);
  await page.getByRole('button', { name: 'Replay' }).click();
  // The keeper may have been there before.
  await page.getByText(/It is applied now|It was decided on before/).waitFor();
  await page
    .getByRole('link', { name: `team ${id}` })
    .first()
    .click();
  await page.getByText('It has Pro since').waitFor();
});

test('what was decided on an event stays when it is replayed', async () => {
  await instep.addTeam('Once', 'cus_once');
  await instep.happen({ eventId: 'evt_once', customerId: 'cus_once' });
  const page = await browser.newPage();
  await page.goto(`${instep.url}/events`);
  await page.getByRole('link', { name: 'evt_once' }).click();
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('It was decided on before').waitFor();
  const facts = page.getByRole('region', { name: 'Facts' });
  expect(await facts.getByText('once', { exact: true }).count()).toBe(1);
});

/** Ten millions take some minutes: `SEEDED_EVENTS=10000000 npx vitest run tests/browser/events.test.ts`. */
const SEEDED = Number(process.env.SEEDED_EVENTS ?? 100_000);
const SEEDED_AT_ONCE = 100_000;

async function seedEvents(): Promise<void> {
  for (let seeded = 0; seeded < SEEDED; seeded += SEEDED_AT_ONCE) {
    await instep.database.query(
      `insert into instep.events
              (key, event_id, type, customer_id, subscription_id, created_at, received_at,
               deliveries, outcome, body)
       select lpad(to_hex(n), 32, '0')::uuid, 'evt_seeded_' || n, 'customer.subscription.updated',
              'cus_seeded_' || n % 1000, 'sub_seeded_' || n % 1000,
              now() - interval '1 day', now() - interval '1 day', 1, 'unchanged', '{}'::bytea
         from generate_series($1::integer + 1, $2::integer) n`,
      [seeded, Math.min(SEEDED, seeded + SEEDED_AT_ONCE)],
    );
  }
}

const patience = { timeout: 60_000 + SEEDED / 10 };

test(`pages of ${SEEDED} events stay right while events arrive`, patience, async () => {
  await seedEvents();
  await instep.addTeam('Meanwhile', 'cus_meanwhile');
  const page = await browser.newPage();
  await page.goto(`${instep.url}/events`);
  const seen: string[] = [];
  for (let count = 1; count <= 10; count += 1) {
    seen.push(...(await idsOn(page)));
    await instep.happen({ eventId: `evt_meanwhile_${count}`, customerId: 'cus_meanwhile' });
    await page.getByRole('link', { name: 'Older' }).click();
    await page.waitForURL(/before=/);
  }
  const newest = Array.from({ length: seen.length }, (_, index) => `evt_seeded_${SEEDED - index}`);
  expect(seen).toEqual(newest);
});

test('what has come meanwhile is told, and no row moves before somebody asks', async () => {
  const page = await browser.newPage();
  await page.goto(`${instep.url}/events`);
  const before = await idsOn(page);
  await instep.happen({ eventId: 'evt_told', customerId: 'cus_meanwhile' });
  const newer = page.getByRole('link', { name: '1 newer event' });
  await newer.waitFor();
  expect(await idsOn(page)).toEqual(before);
  await newer.click();
  await page.getByRole('link', { name: 'evt_told' }).waitFor();
});

/** The ids of the events that the table shows, in its order. */
async function idsOn(page: Page): Promise<string[]> {
  return await page.locator('tbody tr td:nth-child(2)').allTextContents();
}
