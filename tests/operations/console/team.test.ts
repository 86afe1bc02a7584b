import { describe, expect, test } from 'vitest';
import { addTeam } from '../../../src/queries/teams.ts';
import { openConsole } from '../../support/browser/console-pages.ts';
import { eventBody, received } from '../../support/stripe/events.ts';
import { openAccount } from '../../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest } = account;
const apiBase = account.environment.STRIPE_API_BASE ?? '';
const pages = await openConsole(database, { apiBase });

type Made = NonNullable<Parameters<typeof eventBody>[0]>;

const BEGIN_SECONDS = 1_790_000_000;
let count = 0;

/** A team, its customer, and ways for events to come to it. */
async function arrange(name = 'Acme') {
  count += 1;
  const customerId = `cus_${count}`;
  const subscriptionId = `sub_${count}`;
  const teamId = await addTeam(database.query, { name, customerId });
  const made = (secondsLater: number, more: Made): Made => ({
    ...{ customerId, subscriptionId, productId: 'prod_pro' },
    createdSeconds: BEGIN_SECONDS + secondsLater,
    ...more,
  });
  return {
    teamId,
    subscriptionId,
    deliver: (secondsLater: number, more: Made = {}) =>
      ingest([received(eventBody(made(secondsLater, more)), Date.now())]),
    happen: (secondsLater: number, more: Made, how?: 'delivered' | 'missed') =>
      account.happen(made(secondsLater, more), how),
    read: async () => (await pages.get(`/teams/${teamId}`)).text,
  };
}

describe('why a team has its plan or none', () => {
  test('it has it since the event that gave it, and not since it was renewed', async () => {
    const { deliver, read, subscriptionId } = await arrange();
    await deliver(0, { status: 'canceled' });
    await deliver(86_400, { status: 'active' });
    await deliver(2 * 86_400, { status: 'active' });
    expect(await read()).toMatch(
      new RegExp(
        `has a plan It has Pro since 2026-09-22 .* UTC , by the subscription ${subscriptionId}`,
      ),
    );
  });

  test('it follows no customer', async () => {
    const teamId = await addTeam(database.query, { name: 'New', customerId: null });
    const { text } = await pages.get(`/teams/${teamId}`);
    expect(text).toContain('no plan It follows no customer yet, so no event concerns it.');
    expect(text).toContain(`npx instep team link ${teamId} --customer cus_…`);
  });

  test('no event of its customer has ever come', async () => {
    const { read } = await arrange();
    expect(await read()).toContain('nothing heard No event of its customer has ever come.');
  });

  test('only events without effect have come', async () => {
    const { deliver, read } = await arrange();
    await deliver(0, { status: 'incomplete' });
    expect(await read()).toMatch(
      /no plan Events of its customer have come, and none that gives a plan: the last one said incomplete : the first payment is pending./,
    );
  });

  test('its subscription was canceled', async () => {
    const { deliver, read, subscriptionId } = await arrange();
    await deliver(0);
    await deliver(86_400, { type: 'customer.subscription.deleted', status: 'canceled' });
    expect(await read()).toMatch(
      new RegExp(
        `no plan Its subscription ${subscriptionId} was canceled. It has no plan since 2026-09-22`,
      ),
    );
  });

  test('its payments have failed', async () => {
    const { deliver, read } = await arrange();
    await deliver(0);
    await deliver(60, { status: 'unpaid' });
    expect(await read()).toContain('became unpaid: its payments have failed, and Stripe gave up');
  });

  test('another subscription is live, and does not count', async () => {
    const { deliver, read } = await arrange();
    await deliver(0, { subscriptionId: 'sub_live' });
    await deliver(60, { status: 'canceled' });
    expect(await read()).toMatch(
      /Its subscription sub_live is active , but the team follows another one: by TEAM_PLAN=newest/,
    );
  });

  test('the newest event changes nothing', async () => {
    const { deliver, read } = await arrange();
    await deliver(0);
    await deliver(60, { status: 'past_due' });
    expect(await read()).toContain(
      'The newest event said past_due : a payment has failed, and Stripe tries again. The team keeps what it had.',
    );
  });

  test('nothing tells which event of a second came last', async () => {
    const { deliver, read } = await arrange();
    await deliver(0, { status: 'active' });
    await deliver(0, { status: 'canceled' });
    expect(await read()).toContain('Nothing tells which of several events of one second came last');
  });

  test('its product has no name', async () => {
    const { deliver, read } = await arrange();
    await deliver(0, { productId: 'prod_nameless' });
    expect(await read()).toContain('The product prod_nameless has no name yet.');
  });

  test('somebody else has written the team', async () => {
    const { deliver, read, teamId } = await arrange();
    await deliver(0);
    await database.query("update teams set subscription_status = 'canceled' where id = $1", [
      teamId,
    ]);
    const text = await read();
    expect(text).toContain('not as its events say It has none: canceled , and its events say Pro');
    expect(text).toContain(`npx instep rebuild --team ${teamId}`);
  });
});

describe('what happened', () => {
  test('stands there with what each event did, and why one had no effect', async () => {
    const { deliver, read } = await arrange();
    await deliver(0, { eventId: 'evt_first', status: 'trialing' });
    await deliver(120, { eventId: 'evt_end', status: 'canceled' });
    await deliver(60, { eventId: 'evt_late', status: 'active' });
    const text = await read();
    expect(text).toMatch(/applied from Pro \(trialing\) to none: canceled it was the newest/);
    expect(text).toMatch(
      /stale evt_end \(position \d+\) of the same subscription was there before/,
    );
  });

  test('is drawn, and the picture says what it shows', async () => {
    const { deliver, teamId } = await arrange();
    await deliver(0, { status: 'trialing' });
    await deliver(120, { subscriptionId: 'sub_second', status: 'active' });
    await deliver(60, { status: 'unpaid' });
    const { html } = await pages.get(`/teams/${teamId}`);
    const picture = /<svg width="\d+" height="\d+".*?role="img".*?<\/svg>/s.exec(html)?.[0] ?? '';
    expect(picture).toContain(
      '3 events: 2 applied, 1 stale. The plans: no plan yet, then Pro (trialing), then Pro.',
    );
    expect(picture.match(/class="lane"/g)).toHaveLength(2);
    expect(picture.match(/class="mark applied"/g)).toHaveLength(2);
    expect(picture.match(/class="mark stale"/g)).toHaveLength(1);
  });

  test('goes on from page to page', async () => {
    const { deliver, teamId } = await arrange();
    for (let second = 0; second < 70; second += 1) await deliver(second);
    const positions: number[] = [];
    for (let next: string | undefined = `/teams/${teamId}`; next !== undefined; ) {
      const { html } = await pages.get(next);
      positions.push(...[...html.matchAll(/"\/events\/(\d+)"/g)].map(([, one]) => Number(one)));
      next = /href="([^"]*)" rel="next"/.exec(html)?.[1];
    }
    expect(positions).toHaveLength(70);
    expect(positions).toEqual(positions.toSorted((one, other) => other - one));
  });
});

describe('Reconcile this team', () => {
  test('shows what differs, and repairs it when that is asked for', async () => {
    const { happen, teamId } = await arrange();
    await happen(0, { status: 'active' });
    await happen(60, { status: 'canceled' }, 'missed');
    const looked = await pages.post(`/teams/${teamId}/reconcile`, { how: 'dry run' });
    expect(looked.text).toContain('The team is not what Stripe says. An event was missed.');
    expect(looked.text).toContain('Repair this team');
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('active');

    const repaired = await pages.post(`/teams/${teamId}/reconcile`, { how: 'repair' });
    expect(repaired.text).toContain('The team was repaired.');
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('canceled');

    const again = await pages.post(`/teams/${teamId}/reconcile`, { how: 'dry run' });
    expect(again.text).toContain('The team is as Stripe says. There is nothing to repair.');
  });

  test('says when Stripe does not know the customer', async () => {
    const { teamId } = await arrange();
    const { text } = await pages.post(`/teams/${teamId}/reconcile`, { how: 'dry run' });
    expect(text).toContain(`Stripe does not know the customer cus_${count}`);
  });

  test("says what is wrong with Stripe's API", async () => {
    const { teamId } = await arrange();
    account.fault = () => ({ status: 403 });
    try {
      const { text } = await pages.post(`/teams/${teamId}/reconcile`, { how: 'repair' });
      expect(text).toContain("Nothing was compared It failed: Stripe's API refused the key");
    } finally {
      account.fault = undefined;
    }
  });

  test('is refused without the secret of a form', async () => {
    const { happen, teamId } = await arrange();
    await happen(0, { status: 'active' }, 'missed');
    const forged = { csrf: 'forged', how: 'repair' };
    expect((await pages.post(`/teams/${teamId}/reconcile`, forged)).status).toBe(403);
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe(null);
  });
});

test('names and ids are text, whatever they hold', async () => {
  const hostile = '<script>alert(1)</script>\u202e';
  const { deliver, teamId } = await arrange(hostile + 'x'.repeat(10_000));
  await deliver(0, {
    eventId: `evt_${hostile}`,
    subscriptionId: `sub_${hostile}`,
    productId: hostile,
  });
  const { html, text } = await pages.get(`/teams/${teamId}`);
  expect(html).not.toContain('<script>alert');
  expect(text).toContain(`sub_${hostile}`);
  expect(html.length).toBeLessThan(100_000);
});

test.each(['/teams/999999', '/teams/0', '/teams/x', '/teams/99999999999'])(
  '%s is not found',
  async (path) => {
    const { status, text } = await pages.get(path);
    expect(status).toBe(404);
    expect(text).toContain('There is no team of this id.');
  },
);
