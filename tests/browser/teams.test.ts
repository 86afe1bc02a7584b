import type { ApplicationId } from 'instep/src/core/application.ts';
import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { expectText, useBrowser } from '../support/browser/browser.ts';
import { someOf } from '../support/test-length.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

const FOUND_BY: [what: string, textFor: (id: ApplicationId) => string][] = [
  ['part of its name', () => 'larkspur'],
  ['its customer', () => 'cus_larkspur'],
  ['its subscription', () => 'sub_larkspur'],
  ['its id', (id) => String(id)],
];

test.each(someOf(2, FOUND_BY))('a team is found by %s', async (_, textFor) => {
  const team = await addLarkspur();
  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams`);
  const field = page.getByRole('main').getByRole('searchbox');
  await field.fill(textFor(team));
  await field.press('Enter');
  await page.getByRole('link', { name: 'Larkspur Bindery' }).click();
  await expectText(page.getByRole('heading', { level: 1 })).toBe(`Larkspur Bindery Team ${team}`);
  expect(await page.title()).toBe(`Larkspur Bindery · Team ${team} · Instep`);
  await page.locator('[data-status="has plan"]').waitFor();
});

let added: Promise<ApplicationId> | undefined;

/** Adds a team with a plan, among others. */
function addLarkspur(): Promise<ApplicationId> {
  added ??= (async () => {
    for (const name of ['Anemone', 'Foxglove']) await instep.addTeam(name);
    const customerId = 'cus_larkspur';
    const id = await instep.addTeam('Larkspur Bindery', customerId);
    await instep.happen({ customerId, subscriptionId: 'sub_larkspur' });
    return id;
  })();
  return added;
}
