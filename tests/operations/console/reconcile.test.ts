import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Background } from '../../../src/runtime/background.ts';
import { type ConsoleService, openConsole } from '../../support/browser/console-pages.ts';
import { openAccount } from '../../support/stripe/reconciled-account.ts';

const BEGIN_SECONDS = 1_790_000_000;

/** An account at Stripe, and the pages of a database that may have come to disagree with it. */
async function arrange(options: Parameters<typeof openConsole>[1] = {}) {
  const account = await openAccount();
  const apiBase = account.environment.STRIPE_API_BASE ?? '';
  const openPages = () => openConsole(account.database, { apiBase, ...options });
  return { account, openPages, pages: await openPages() };
}

type Account = Awaited<ReturnType<typeof openAccount>>;

/** A team that has a plan by what came, and none by what did not. */
async function drift(account: Account, name: string): Promise<number> {
  const customerId = `cus_${name}`;
  const made = { customerId, subscriptionId: `sub_${name}`, productId: 'prod_pro' };
  const teamId = await account.addTeam(customerId);
  await account.happen({ ...made, createdSeconds: BEGIN_SECONDS });
  const end = { createdSeconds: BEGIN_SECONDS + 60, status: 'canceled' };
  await account.happen({ ...made, ...end }, 'missed');
  return teamId;
}

const statusOf = async (account: Account, teamId: number) =>
  (await account.planOf(teamId))?.plan.subscriptionStatus;

/** The part of the page that asks again, as soon as it asks no more. */
async function settled(pages: ConsoleService) {
  for (;;) {
    const part = await pages.get('/reconcile/run');
    if (!part.html.includes('hx-trigger')) return part;
    await sleep(50);
  }
}

test('says what it is for, when nothing was compared yet', async () => {
  const { pages } = await arrange();
  const { text } = await pages.get('/reconcile');
  expect(text).toContain('Nothing was compared yet A dry run tells whether every team has');
});

test('a dry run tells what has drifted and leaves it; repairing puts it right, once asked twice', async () => {
  const { account, pages } = await arrange();
  const teamId = await drift(account, 'drifted');
  await account.happen({ customerId: 'cus_teamless', createdSeconds: BEGIN_SECONDS }, 'missed');

  const started = await pages.post('/reconcile', { how: 'dry run' });
  expect(started.status).toBe(200);
  expect(started.text).toContain('Dry run');
  const found = await settled(pages);
  expect(found.text).toMatch(/Drifted teams 1 left as they are Teams compared 1/);
  expect(found.text).toMatch(
    /An event was missed\. Subscription: sub_drifted \. status from active to canceled/,
  );
  expect(found.text).toMatch(
    /cus_teamless No team has this customer, whose subscriptions are active/,
  );
  expect(found.html).toContain(`href="/teams/${teamId}"`);
  expect(await statusOf(account, teamId)).toBe('active');

  const lines = (await (await pages.fetch('/reconcile/findings')).text()).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).kind)).toEqual(['drift', 'customer without a team']);

  const asked = await pages.get('/reconcile/repair');
  expect(asked.text).toContain('Repair what has drifted?');
  expect(await statusOf(account, teamId)).toBe('active');
  await pages.post('/reconcile', { how: 'repair' });
  expect((await settled(pages)).text).toMatch(/Mending .* Drifted teams 1 1 repaired/);
  expect(await statusOf(account, teamId)).toBe('canceled');

  await pages.post('/reconcile', { how: 'dry run' });
  expect((await settled(pages)).text).toContain('Drifted teams none');
});

test('the progress is told, and only one goes on at a time', async () => {
  const { account, pages } = await arrange();
  const teamId = await drift(account, 'slow');
  account.delayMs = 300;
  const started = await pages.post('/reconcile', { how: 'dry run' });
  expect(started.text).toContain('It is under way.');
  expect(started.html).toContain('hx-get="/reconcile/run"');
  await pages.post('/reconcile', { how: 'repair' });
  expect((await settled(pages)).text).toContain('Dry run');
  expect(await statusOf(account, teamId)).toBe('active');
});

test('one of another instance is told, and none is started beside it', async () => {
  const { account, pages } = await arrange();
  await account.database.query(
    `update instep.leased_jobs
        set holder = 'another', held_until = now() + interval '1 minute', started_at = now()
      where name = 'reconcile'`,
  );
  const told = await pages.get('/reconcile');
  expect(told.text).toContain('Another instance reconciles now It begins.');
  expect(told.html).toContain('hx-trigger');
  await pages.post('/reconcile', { how: 'dry run' });
  await sleep(200);
  expect((await pages.get('/reconcile')).text).toContain(
    'It did not come to its end Another reconciliation is under way',
  );
});

test('after a restart the counts of the last one are there', async () => {
  const { account, pages, openPages } = await arrange();
  await drift(account, 'drifted');
  await pages.post('/reconcile', { how: 'dry run' });
  await settled(pages);
  const restarted = await openPages();
  expect((await restarted.get('/reconcile')).text).toMatch(
    /Last time A dry run, begun .* Drifted teams 1 left as they are/,
  );
});

describe('what comes in between is told in words', () => {
  test("Stripe's API refuses the key", async () => {
    const { account, pages } = await arrange();
    account.fault = () => ({ status: 403 });
    await pages.post('/reconcile', { how: 'dry run' });
    expect((await settled(pages)).text).toContain(
      "It did not come to its end Stripe's API refused the key: STRIPE_SECRET_KEY must be one",
    );
  });

  test('the server ends, and waits for it no longer than for a call', async () => {
    const background = new Background();
    const { account, pages } = await arrange({ background });
    await drift(account, 'stopped');
    account.delayMs = 5_000;
    await pages.post('/reconcile', { how: 'repair' });
    await background.stop();
    expect((await pages.get('/reconcile')).text).toContain('Stopped before it was done.');
    const [walk] = await account.database.query<{ holder: string | null }>(
      "select holder from instep.leased_jobs where name = 'reconcile'",
    );
    expect(walk?.holder).toBe(null);
  });
});

test('nothing is started without the secret of a form', async () => {
  const { account, pages } = await arrange();
  const { status } = await pages.post('/reconcile', { csrf: 'forged', how: 'repair' });
  expect(status).toBe(403);
  expect(account.calls).toEqual([]);
});

test('what was found is text, whatever it holds', async () => {
  const { account, pages } = await arrange();
  const customerId = '<script>alert(1)</script>\u202e';
  await account.happen({ customerId, createdSeconds: BEGIN_SECONDS }, 'missed');
  await pages.post('/reconcile', { how: 'dry run' });
  const { html, text } = await settled(pages);
  expect(html).not.toContain('<script>alert');
  expect(text).toContain(customerId);
});
