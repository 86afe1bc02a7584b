import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { axeViolations, expectText, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

const COUNT = 20;

/** Parks the payment of each customer, and adds a team that has no customer yet. */
async function arrange(name: string): Promise<void> {
  for (let number = 1; number <= COUNT; number += 1) {
    const customerId = `cus_${name}_${number}`;
    const createdSeconds = Math.floor(Date.now() / 1_000) - 60;
    await instep.happen({ customerId, subscriptionId: `sub_${name}_${number}`, createdSeconds });
    await instep.addTeam(`${name} ${number}.`);
  }
}

test.each([
  ['with scripts', 'Acme', true],
  ['without scripts', 'Birch', false],
])('20 customers are linked and replayed at once, %s', async (_, name, javaScriptEnabled) => {
  await arrange(name);
  const page = await browser.newPage({ javaScriptEnabled });
  await page.goto(instep.url);
  await page.getByRole('link', { name: 'Attention' }).click();
  await page.getByRole('link', { name: 'Select all rows' }).click();
  for (let number = 1; number <= COUNT; number += 1) {
    await page
      .getByLabel(`Team for customer:cus_${name}_${number}`, { exact: true })
      .fill(`${name} ${number}.`);
  }
  await page.getByRole('button', { name: 'Link team' }).last().click();
  await expectText(page.getByRole('status')).toContain(`${COUNT} done`);
  expect(await page.getByRole('table').count()).toBe(0);
  if (javaScriptEnabled) expect(await axeViolations(page)).toEqual([]);

  const sent = 'select count(*) as count from instep.operator_actions';
  const before = await instep.database.query(sent);
  await page.reload();
  await expectText(page.getByRole('status')).toContain(`${COUNT} done`);
  expect(await instep.database.query(sent)).toEqual(before);
});

test('the Enter key in a field links only its own row, and the others keep their text', async () => {
  const customerId = 'cus_enter';
  await instep.happen({ customerId, subscriptionId: 'sub_enter' });
  await instep.happen({ customerId: 'cus_before', subscriptionId: 'sub_before' });
  await instep.addTeam('Entered');
  await instep.addTeam('Other');
  const page = await browser.newPage();
  await page.goto(`${instep.url}/attention`);
  const field = page.getByLabel(`Team for customer:${customerId}`);
  const other = page.getByLabel('Team for customer:cus_before');
  await other.fill('Other');
  await field.fill('Missing');
  await field.press('Enter');
  await expectText(page.getByRole('row', { name: customerId })).toContain(
    'There is no team "Missing".',
  );
  await expect.poll(() => field.inputValue()).toBe('Missing');
  expect(await axeViolations(page)).toEqual([]);
  await field.fill('Entered');
  await field.press('Enter');
  await page.locator('[data-result=linked]').waitFor();
  await page.getByRole('row', { name: 'cus_before' }).waitFor();
  expect(await other.inputValue()).toBe('Other');
});
