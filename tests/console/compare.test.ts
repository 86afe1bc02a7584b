import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationId } from 'instep';
import { describe, expect, test } from 'vitest';
import { type ConsoleService, openConsole } from '../support/browser/console-pages.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const BEGIN_SECONDS = 1_790_000_000;

/** An account at Stripe, and the console of a database that can get out of sync with it. */
async function arrange() {
  const account = await openAccount();
  const apiBase = account.environment.STRIPE_API_BASE ?? '';
  return { account, pages: await openConsole(account.database, { apiBase }) };
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
    const part = await pages.get('/compare');
    if (!part.html.includes('hx-trigger')) return part;
    await sleep(50);
  }
}

test('a dry run finds drift and changes nothing; what it finds is repaired in the list', async () => {
  const { account, pages } = await arrange();
  const teamId = await drift(account, 'drifted');
  await account.happen({ customerId: 'cus_teamless', createdSeconds: BEGIN_SECONDS }, 'missed');

  const started = await pages.post('/compare');
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

  await pages.post('/compare');
  expect((await settled(pages)).text).toContain('Teams with a wrong plan none');
});

test('a comparison of no team proves nothing', async () => {
  const { pages } = await arrange();
  await pages.post('/compare');
  const { html, text } = await settled(pages);
  expect(text).toContain('Teams compared 0 Teams with a wrong plan none compared');
  expect(html).not.toContain('badge good');
});

test('a team whose customer Stripe does not know is no good result', async () => {
  const { account, pages } = await arrange();
  await account.addTeam('cus_typo');
  await pages.post('/compare');
  const { html, text } = await settled(pages);
  expect(text).toContain('Teams with a customer unknown to Stripe 1');
  expect(html).not.toContain('badge good');
  expect(html).toContain('badge warning');
});

test('progress is shown, and only one run is active at a time', async () => {
  const { account, pages } = await arrange();
  const teamId = await drift(account, 'slow');
  account.delayMs = 300;
  const started = await pages.post('/compare');
  expect(started.html).toContain('hx-get="/compare"');
  await pages.post('/compare');
  expect((await settled(pages)).text).toContain('Dry run');
  const callsOfOne = account.calls.length;
  await pages.post('/compare');
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
  const shown = await pages.get('/compare');
  expect(shown.text).toContain('Comparison in progress Starting…');
  expect(shown.html).toContain('hx-trigger');
  await pages.post('/compare');
  await sleep(200);
  expect((await pages.get('/compare')).text).toContain(
    'The comparison failed Another comparison is running',
  );
});

describe('an interruption is explained', () => {
  test("when Stripe's API refuses the key", async () => {
    const { account, pages } = await arrange();
    account.fault = () => ({ status: 403 });
    await pages.post('/compare');
    expect((await settled(pages)).text).toContain(
      'The comparison failed STRIPE_SECRET_KEY lacks permission',
    );
  });
});
