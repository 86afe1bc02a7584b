import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const BEGIN_SECONDS = 1_790_000_000;

/** An account at Stripe, and the console of a database that can get out of sync with it. */
async function arrange() {
  const account = await openAccount();
  const apiBase = account.environment.STRIPE_API_BASE ?? '';
  const pages = await openConsole(account.database, { apiBase });
  return { account, pages, compare: async () => await ended(pages, await pages.post('/compare')) };
}

/** The page once the comparison has ended. */
async function ended(pages: ConsoleService, shown: Awaited<ReturnType<ConsoleService['get']>>) {
  if (!shown.html.includes('hx-trigger')) return shown;
  await sleep(50);
  return await ended(pages, await pages.get('/compare'));
}

/** A team that keeps its plan because it missed the cancellation. */
async function arrangeDrift() {
  const arranged = await arrange();
  const { account } = arranged;
  const fields = { customerId: 'cus_1', subscriptionId: 'sub_drifted', productId: 'prod_pro' };
  const teamId = await account.addTeam('cus_1');
  await account.happen({ ...fields, createdSeconds: BEGIN_SECONDS });
  const end = { createdSeconds: BEGIN_SECONDS + 60, status: 'canceled' };
  await account.happen({ ...fields, ...end }, 'missed');
  const readStatus = async () => (await account.planOf(teamId))?.plan.subscriptionStatus;
  return { ...arranged, teamId, readStatus };
}

test('a dry run finds drift and changes nothing; what it finds is repaired in the list', async () => {
  const { account, pages, compare, teamId, readStatus } = await arrangeDrift();
  await account.happen({ customerId: 'cus_teamless', createdSeconds: BEGIN_SECONDS }, 'missed');
  const found = await compare();
  expect(found.text).toMatch(
    /Dry run, started .* finished .*\. Teams compared 1 Teams with a wrong plan 1, not repaired/,
  );
  expect(found.hrefOf('Repair 1 out of sync…')).toBe('/attention?issue=out-of-sync');
  const attention = await pages.get('/attention');
  expect(attention.html).toContain('value="customer:cus_teamless"');
  expect(await readStatus()).toBe('active');
  await pages.press('/attention', `repair team:${teamId}`, { confirmed: 'yes' });
  expect(await readStatus()).toBe('canceled');
  expect((await compare()).text).toContain('Teams with a wrong plan none');
});

test('a comparison of no team proves nothing, nor one with a customer that Stripe does not know', async () => {
  const { account, compare } = await arrange();
  const none = await compare();
  expect(none.text).toContain('Teams compared 0 Teams with a wrong plan none compared');
  expect(none.html).not.toContain('badge good');
  await account.addTeam('cus_typo');
  const unknown = await compare();
  expect(unknown.text).toContain('Teams with a customer unknown to Stripe 1');
  expect(unknown.html).not.toContain('badge good');
  expect(unknown.html).toContain('badge warning');
});

test('progress is shown, and only one run is active at a time', async () => {
  const { account, pages, compare } = await arrangeDrift();
  account.delayMs = 300;
  expect((await pages.post('/compare')).html).toContain('hx-get="/compare"');
  expect((await compare()).text).toContain('Dry run');
  const callsOfOne = account.calls.length;
  await compare();
  expect(account.calls).toHaveLength(2 * callsOfOne);
});

test('a run on another instance is shown, and no second one starts', async () => {
  const { account, pages } = await arrange();
  await account.database.query(
    `update instep.leased_jobs
        set holder = 'another', held_until = now() + interval '1 minute', started_at = now()
      where name = 'reconcile'`,
  );
  const shown = await pages.get('/compare');
  expect(shown.text).toContain('Comparison in progress Starting…');
  expect(shown.html).toContain('hx-trigger');
  await pages.post('/compare');
  const failed = 'The comparison failed Another comparison is running';
  await expect.poll(async () => (await pages.get('/compare')).text).toContain(failed);
});

test("that Stripe's API refuses the key is explained", async () => {
  const { account, compare } = await arrange();
  account.fault = () => ({ status: 403 });
  expect((await compare()).text).toContain('STRIPE_SECRET_KEY lacks permission');
});
