import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import { useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

const NOW_SECONDS = Math.floor(Date.now() / 1_000);

test.each([
  ['a part of its name', 'larkspur'],
  ['its customer', 'cus_larkspur'],
  ['its subscription', 'sub_larkspur'],
  ['its id', (id: number) => String(id)],
])('a team is found by %s', async (_, wanted) => {
  const team = await larkspur();
  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams`);
  const field = page.getByRole('searchbox');
  await field.fill(typeof wanted === 'string' ? wanted : wanted(team));
  await field.press('Enter');
  await page.getByRole('link', { name: 'Larkspur Bindery' }).click();
  await page.getByRole('heading', { name: `Team ${team}` }).waitFor();
  await page.getByText('It has Pro since').waitFor();
});

let known: Promise<number> | undefined;

/** A team with a plan, among others. */
function larkspur(): Promise<number> {
  known ??= (async () => {
    for (const name of ['Anemone', 'Foxglove']) await instep.addTeam(name);
    const customerId = 'cus_larkspur';
    const id = await instep.addTeam('Larkspur Bindery', customerId);
    await instep.happen({ customerId, subscriptionId: 'sub_larkspur' });
    return id;
  })();
  return known;
}

test('why a late event was stale stands at the event, and at the team', async () => {
  const customerId = 'cus_late';
  const teamId = await instep.addTeam('Late', customerId);
  const at = (secondsAgo: number) => ({ createdSeconds: NOW_SECONDS - secondsAgo, customerId });
  await instep.happen({ ...at(60), eventId: 'evt_newer' });
  await instep.happen({ ...at(300), eventId: 'evt_older', status: 'unpaid' });
  const why = /evt_newer \(position \d+\) of the same subscription was there before/;

  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams/${teamId}`);
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'evt_older' }) });
  expect(await row.textContent()).toMatch(why);
  await row.getByRole('link').click();
  await page.getByText(why).waitFor();
  expect(await page.getByRole('region', { name: 'What was decided' }).textContent()).toContain(
    'stale',
  );
});

test('a team that lost an event is compared with Stripe, and repaired', async () => {
  const customerId = 'cus_missed';
  const teamId = await instep.addTeam('Missed', customerId);
  const subscriptionId = 'sub_missed';
  const trial = { customerId, subscriptionId, createdSeconds: NOW_SECONDS - 600 };
  await instep.happen({ ...trial, status: 'trialing' });
  await instep.happen({ customerId, subscriptionId, status: 'active' }, 'missed');

  const page = await browser.newPage();
  await page.goto(`${instep.url}/teams/${teamId}`);
  await page.getByText('Pro (trialing)').first().waitFor();
  await page.getByRole('button', { name: 'Compare with Stripe' }).click();
  await page.getByText('An event was missed.').waitFor();
  await page.getByRole('button', { name: /Repair/ }).click();
  await page.getByText('It has Pro since').waitFor();
});
