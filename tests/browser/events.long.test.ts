import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

test('a parked event is applied by linking a team to its customer, on its own page', async () => {
  await instep.happen({ eventId: 'evt_parked', customerId: 'cus_parked' });
  await instep.addTeam('Parked');
  const page = await browser.newPage();
  await page.goto(`${instep.url}/events?outcome=parked`);
  await page.getByRole('link', { name: 'evt_parked' }).click();
  await page.getByLabel('Team id or name').fill('Parked');
  await page.getByRole('button', { name: 'Link team' }).click();
  await page.locator('[data-result=linked]').waitFor();
  await page.goBack();
  await page.reload();
  await page.getByRole('link', { name: 'Parked', exact: true }).first().click();
  await page.locator('[data-status="has plan"]').waitFor();
});

test('a replay does not change an event that is still unreadable', async () => {
  const odd = { id: 'evt_odd', type: 'customer.subscription.updated', data: { object: 7 } };
  await instep.post(JSON.stringify(odd));
  const page = await browser.newPage();
  await page.goto(`${instep.url}/events`);
  await page.getByRole('link', { name: 'evt_odd' }).click();
  await page.getByRole('button', { name: 'Replay' }).click();
  await expectText(page).toContain("can't read the event either. Nothing was changed.");
  const facts = page.getByRole('region', { name: 'Facts' });
  expect(await facts.innerText()).toMatch(/Deliveries\s+1\n/);
});

/** `SEEDED_EVENTS=10000000 npx vitest run tests/browser/events.long.test.ts` takes some minutes. */
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

const timeout = { timeout: 60_000 + SEEDED / 10 };

test(`pages of ${SEEDED} events stay correct while events arrive`, timeout, async () => {
  await seedEvents();
  await instep.addTeam('Meanwhile', 'cus_meanwhile');
  const page = await browser.newPage();
  await page.goto(`${instep.url}/events`);
  const seen: string[] = [];
  for (let count = 1; count <= 10; count += 1) {
    seen.push(...(await idsOn(page)));
    await instep.happen({ eventId: `evt_meanwhile_${count}`, customerId: 'cus_meanwhile' });
    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/after=/);
  }
  const newest = Array.from({ length: seen.length }, (_, index) => `evt_seeded_${SEEDED - index}`);
  expect(seen).toEqual(newest);
});

/** The event ids in the table, in its order. */
async function idsOn(page: Page): Promise<string[]> {
  return await page.locator('tbody tr td:nth-child(3)').allTextContents();
}
