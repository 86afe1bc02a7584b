import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationId } from 'instep';
import { describe, expect, test } from 'vitest';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const BEGIN_SECONDS = 1_790_000_000;

/** An account at Stripe, and the console of a database that can get out of sync with it. */
async function arrange(options: Parameters<typeof openConsole>[1] = {}) {
  const account = await openAccount();
  const apiBase = account.environment.STRIPE_API_BASE ?? '';
  const openPages = () => openConsole(account.database, { apiBase, ...options });
  return { account, openPages, pages: await openPages() };
}

type Account = Awaited<ReturnType<typeof openAccount>>;

/** A team that keeps its plan because it missed the cancellation. */
async function drift(account: Account, name: string): Promise<ApplicationId> {
  const customerId = `cus_${name}`;
  const fields = { customerId, subscriptionId: `sub_${name}`, productId: 'prod_pro' };
  const teamId = await account.addTeam(customerId);
  await account.happen({ ...fields, createdSeconds: BEGIN_SECONDS });
  const end = { createdSeconds: BEGIN_SECONDS + 60, status: 'canceled' };
  await account.happen({ ...fields, ...end }, 'missed');
  return teamId;
}

const statusOf = async (account: Account, teamId: ApplicationId) =>
  (await account.planOf(teamId))?.plan.subscriptionStatus;

/** The status of the run once it has ended. */
async function settled(pages: ConsoleService) {
  for (;;) {
    const part = await pages.get('/reconcile');
    if (!part.html.includes('hx-trigger')) return part;
    await sleep(50);
  }
}

test('a dry run finds drift and changes nothing; what it finds is repaired in the list', async () => {
  const { account, pages } = await arrange();
  const teamId = await drift(account, 'drifted');
  await account.happen({ customerId: 'cus_teamless', createdSeconds: BEGIN_SECONDS }, 'missed');

  const started = await pages.post('/reconcile');
  expect(started.status).toBe(200);
  expect(started.text).toContain('in progress');
  const found = await settled(pages);
  expect(found.text).toMatch(/Teams compared 1 Teams with a wrong plan 1, not repaired/);
  const attention = await pages.get('/attention');
  expect(attention.html).toContain(`value="team:${teamId}"`);
  expect(attention.html).toContain('value="customer:cus_teamless"');
  expect(await statusOf(account, teamId)).toBe('active');

  expect(found.html).toContain('href="/attention?issue=out-of-sync"');
  const repair = [
    ['one', `repair team:${teamId}`],
    ['confirmed', 'yes'],
  ] as const;
  await pages.post('/actions', repair);
  expect(await statusOf(account, teamId)).toBe('canceled');

  await pages.post('/reconcile');
  expect((await settled(pages)).text).toContain('Teams with a wrong plan none');
});

test('a team whose customer Stripe does not know is no good result', async () => {
  const { account, pages } = await arrange();
  await account.addTeam('cus_typo');
  await pages.post('/reconcile');
  const { html, text } = await settled(pages);
  expect(text).toContain('Teams with a customer unknown to Stripe 1');
  expect(html).not.toContain('badge good');
  expect(html).toContain('badge warning');
});

test('teams that were repaired elsewhere since the dry run are not offered again', async () => {
  const { account, pages } = await arrange();
  const [repairedId] = [await drift(account, 'one'), await drift(account, 'other')];
  await pages.post('/reconcile');
  expect((await settled(pages)).text).toContain('Repair 2 out of sync…');
  await account.database.query(
    `update teams set subscription_status = 'canceled', plan_name = null,
            provider_product_id = null, provider_subscription_id = null where id = $1`,
    [repairedId],
  );
  expect((await pages.get('/reconcile')).text).toContain('Repair 1 out of sync…');
});

test('progress is shown, and only one run is active at a time', async () => {
  const { account, pages } = await arrange();
  const teamId = await drift(account, 'slow');
  account.delayMs = 300;
  const started = await pages.post('/reconcile');
  expect(started.html).toContain('hx-get="/reconcile"');
  await pages.post('/reconcile');
  expect((await settled(pages)).text).toContain('Dry run');
  const callsOfOne = account.calls.length;
  await pages.post('/reconcile');
  await settled(pages);
  expect(account.calls).toHaveLength(2 * callsOfOne);
  expect(await statusOf(account, teamId)).toBe('active');
});

test('a run on another instance is shown, and no second one starts', async () => {
  const { account, pages } = await arrange();
  await account.database.query(
    `update instep.leased_jobs
        set holder = 'another', held_until = now() + interval '1 minute', started_at = now()
      where name = 'reconcile'`,
  );
  const shown = await pages.get('/reconcile');
  expect(shown.text).toContain('Reconciliation in progress Starting…');
  expect(shown.html).toContain('hx-trigger');
  await pages.post('/reconcile');
  await sleep(200);
  expect((await pages.get('/reconcile')).text).toContain(
    'Reconciliation failed Another reconciliation is running',
  );
});

test('the counts of the last run survive a restart', async () => {
  const { account, pages, openPages } = await arrange();
  await drift(account, 'drifted');
  await pages.post('/reconcile');
  await settled(pages);
  const restarted = await openPages();
  expect((await restarted.get('/reconcile')).text).toMatch(
    /Last reconciliation Dry run, started .* Teams with a wrong plan 1, not repaired/,
  );
});

describe('an interruption is explained', () => {
  test("when Stripe's API refuses the key", async () => {
    const { account, pages } = await arrange();
    account.fault = () => ({ status: 403 });
    await pages.post('/reconcile');
    expect((await settled(pages)).text).toContain(
      'Reconciliation failed STRIPE_SECRET_KEY lacks permission',
    );
  });

  test('when the server stops, which waits for no more than one call', async () => {
    const { account, pages } = await arrange();
    await drift(account, 'stopped');
    account.delayMs = 5_000;
    await pages.post('/reconcile');
    await pages.closePages();
    expect((await pages.get('/reconcile')).text).toContain('The server was stopped.');
    const [walk] = await account.database.query<{ holder: string | null }>(
      "select holder from instep.leased_jobs where name = 'reconcile'",
    );
    expect(walk?.holder).toBe(null);
  });
});
