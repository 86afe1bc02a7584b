import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeEach, expect, test } from 'vitest';
import { axeViolations, expectText, PHONE, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { someOf } from '../support/test-length.ts';

const browser = useBrowser();
const { database } = await createDatabase();
const { query } = database;
const pages = await openConsole(database);
const ingest = openPipeline(database);

beforeEach(() =>
  query(
    'truncate teams, instep.events, instep.customers, instep.findings, instep.operator_actions',
  ),
);

/** Opens the list with customers that wait for a team. */
async function openWith(customerIds: readonly string[], options?: BrowserContextOptions) {
  for (const customerId of customerIds) {
    await ingest([receivedEvent({ customerId, subscriptionId: `sub_${customerId}` })]);
  }
  const page = await browser.newPage(options);
  await page.goto(`${pages.url}/attention`);
  return page;
}

const newTeam = (name: string) => addTeam(query, { name, customerId: null });
const fieldOf = (page: Page, customerId: string) =>
  page.getByLabel(`Team for customer:${customerId}`, { exact: true });
const done = (page: Page, result: string) =>
  page.locator(`[data-result="${result}"]`).first().waitFor();
async function selectAll(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Select all rows' }).click();
  await page.getByRole('link', { name: 'Deselect all rows' }).waitFor();
}

const linked = async () =>
  await query('select name, provider_customer_id as customer from teams order by name');

const WIDTHS = [
  ['1440 px', { width: 1_440, height: 900 }],
  ['a phone', PHONE],
] as const;

test.each(someOf(1, WIDTHS))(
  'a part of a name is asked about, linked by a click, and unlinked by another, at %s',
  async (_, viewport) => {
    await newTeam('Tern');
    const page = await openWith(['cus_1'], { viewport });
    await fieldOf(page, 'cus_1').fill('ern');
    await fieldOf(page, 'cus_1').press('Enter');
    await done(page, 'several-teams');
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Link to Tern' }).click();
    await done(page, 'linked');
    await page.getByRole('button', { name: 'Unlink' }).click();
    await done(page, 'unlinked');
    expect(await linked()).toEqual([{ name: 'Tern', customer: null }]);
  },
);

test('a second click while a form is on its way sends nothing', async () => {
  const page = await openWith(['cus_1']);
  await page.getByRole('row', { name: 'cus_1' }).getByRole('checkbox').check();
  const result = await page.evaluate(`(() => {
    let sent = 0;
    document.addEventListener('submit', (event) => {
      if (!event.defaultPrevented) sent += 1;
      event.preventDefault();
    });
    const button = document.querySelector('button[value="dismiss"]');
    for (let click = 0; click < 3; click += 1) button.click();
    return { sent, isBusy: button.getAttribute('aria-busy') };
  })()`);
  expect(result).toEqual({ sent: 1, isBusy: 'true' });
});

test('the Enter key in a field links only its own row, and the others keep their text', async () => {
  await newTeam('Entered');
  await newTeam('Other');
  const page = await openWith(['cus_before', 'cus_enter']);
  await fieldOf(page, 'cus_before').fill('Other');
  for (const text of ['Missing', 'Entered']) {
    const field = fieldOf(page, 'cus_enter');
    await field.fill(text);
    await field.press('Enter');
    await done(page, text === 'Missing' ? 'no-such-team' : 'linked');
    if (text === 'Missing') expect(await field.inputValue()).toBe('Missing');
    expect(await axeViolations(page)).toEqual([]);
  }
  expect(await fieldOf(page, 'cus_before').inputValue()).toBe('Other');
  expect(await linked()).toMatchObject([{ customer: 'cus_enter' }, { customer: null }]);
});

test('without scripts, chosen customers are dismissed, restored and linked at once', async () => {
  const names = ['cus_one', 'cus_two'];
  for (const name of names) await newTeam(name);
  const page = await openWith(names, { javaScriptEnabled: false });
  const toolbar = page.locator('.toolbar');
  await selectAll(page);
  await toolbar.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByRole('button', { name: 'Dismiss 2 issues' }).click();
  await done(page, 'dismissed');
  await page.getByRole('button', { name: 'Restore' }).click();
  await done(page, 'restored');
  await selectAll(page);
  for (const name of names) await fieldOf(page, name).fill(name);
  await toolbar.getByRole('button', { name: 'Link team' }).click();
  await expectText(page.getByRole('status')).toContain('2 done');
  expect(await linked()).toEqual(names.map((name) => ({ name, customer: name })));
});
