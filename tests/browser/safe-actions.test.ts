import { expect, test } from 'vitest';
import { axeViolations, PHONE, useBrowser } from '../support/browser/browser.ts';
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

const park = (customerId: string) =>
  openPipeline(database)([receivedEvent({ customerId, subscriptionId: `sub_${customerId}` })]);

const WIDTHS = [
  ['1440 px', { width: 1_440, height: 900 }],
  ['a phone', PHONE],
] as const;

test.each(someOf(1, WIDTHS))(
  'a part of a name is asked about, linked by a click, and unlinked by another, at %s',
  async (name, viewport) => {
    const customerId = `cus_${name.replace(' ', '_')}`;
    await park(customerId);
    const teamId = await addTeam(query, { name: `Tern ${name}`, customerId: null });
    const page = await browser.newPage({ viewport });
    await page.goto(`${pages.url}/attention`);
    const field = page.getByLabel(`Team for customer:${customerId}`);
    await field.fill(`ern ${name}`);
    await field.press('Enter');
    await page.locator('[data-result=several-teams]').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: `Link to Tern ${name}` }).click();
    await page.locator('[data-result=linked]').waitFor();
    await page.getByRole('button', { name: 'Unlink' }).click();
    await page.locator('[data-result=unlinked]').waitFor();
    const [team] = await query('select provider_customer_id from teams where id = $1', [teamId]);
    expect(team).toEqual({ provider_customer_id: null });
  },
);

test('a second click while a form is on its way sends nothing', async () => {
  await park('cus_twice');
  const page = await browser.newPage();
  await page.goto(`${pages.url}/attention`);
  await page.getByRole('row', { name: 'cus_twice' }).getByRole('checkbox').check();
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
