import type { ApplicationId } from 'instep';
import { describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { fieldsOf } from '../support/browser/forms.ts';
import { addTeam } from '../support/internals/rows.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest } = account;
const apiBase = account.environment.STRIPE_API_BASE ?? '';
const pages = await openConsole(database, { apiBase });

type EventFields = NonNullable<Parameters<typeof eventBody>[0]>;

const BEGIN_SECONDS = 1_790_000_000;
let count = 0;

/** A team, its customer, and functions that deliver events to it. */
async function arrange(name = 'Acme') {
  count += 1;
  const customerId = `cus_${count}`;
  const subscriptionId = `sub_${count}`;
  const teamId = await addTeam(database.query, { name, customerId });
  const eventOf = (secondsLater: number, more: EventFields): EventFields => ({
    ...{ customerId, subscriptionId, productId: 'prod_pro' },
    createdSeconds: BEGIN_SECONDS + secondsLater,
    ...more,
  });
  return {
    teamId,
    subscriptionId,
    deliver: (secondsLater: number, more: EventFields = {}) =>
      ingest([received(eventBody(eventOf(secondsLater, more)), Date.now())]),
    happen: (secondsLater: number, more: EventFields, how?: 'delivered' | 'missed') =>
      account.happen(eventOf(secondsLater, more), how),
    read: async () => (await pages.get(`/teams/${teamId}`)).text,
  };
}

/** Presses a button of the team's page. */
const press = (teamId: ApplicationId, action: string, entered?: Record<string, string>) =>
  pages.press(`/teams/${teamId}`, `${action} team:${teamId}`, entered);
const link = (teamId: ApplicationId, customerId: string) =>
  press(teamId, 'link', { [`link team:${teamId}`]: customerId });

describe('the reason for the plan', () => {
  test('says that the team has no customer, and which customers wait for a team', async () => {
    const teamId = await addTeam(database.query, { name: 'New', customerId: null });
    const path = `/teams/${teamId}`;
    const none = await pages.get(path);
    expect(none.html).toContain('data-status="unlinked"');
    expect(none.text).toContain('No customer waits for a team.');
    const paid = { customerId: 'cus_paid', subscriptionId: 'sub_paid', productId: 'prod_pro' };
    await ingest([received(eventBody(paid), Date.now())]);
    const { html, text } = await pages.get(path);
    expect(html).toContain('href="/attention?issue=parked-events"');
    expect(html).toContain(`name="link team:${teamId}" value="cus_paid"`);
    expect(text).toMatch(/The newest says active for Pro \./);
    expect(text).not.toMatch(/provider_|npx/);
    const linked = await link(teamId, 'cus_paid');
    expect(linked.html).toContain('data-result="linked"');
    expect(linked.html).toContain('data-status="has plan"');
    expect(linked.text).toMatch(/Known subscriptions .* sub_paid active Pro/);
  });

  test('keeps a customer that could not be linked, with the error', async () => {
    const teamId = await addTeam(database.query, { name: 'New', customerId: null });
    const { html } = await link(teamId, 'Acme');
    expect(html).toMatch(/<input[^>]* value="Acme"[^>]*aria-invalid="true"/);
    expect(html).toMatch(/<p class="error"[^>]*>Enter the customer&#39;s id at Stripe\./);
  });

  test('says that Stripe does not know the customer, and links another one', async () => {
    const { deliver, read, teamId } = await arrange();
    await deliver(0);
    const { html } = await press(teamId, 'compare');
    expect(html).toContain('data-result="unknown-customer"');
    expect(html).toContain('data-issue="unknown-customer"');
    expect(html).toContain('href="#link"');
    expect((await link(teamId, 'cus_other')).text).toContain('Linked to cus_other.');
    expect(await read()).not.toContain('unknown customer');
  });
});

describe('the timeline', () => {
  /** The texts of the items' rows. */
  const rowsOf = (html: string) =>
    html
      .slice(html.indexOf('id="timeline"'))
      .split('<tr>')
      .filter((row) => row.startsWith('<td'))
      .map((row) =>
        row
          .replace(/<\/tr>.*/s, '')
          .replace(/<[^>]*>/g, ' ')
          .replace(/\s+/g, ' '),
      );
  test('shows what each event changed, or why it changed nothing', async () => {
    const { deliver, teamId } = await arrange();
    await deliver(0, { eventId: 'evt_first', status: 'trialing' });
    await deliver(120, { eventId: 'evt_end', status: 'canceled' });
    await deliver(60, { eventId: 'evt_late', status: 'active' });
    const [late, end, first] = rowsOf((await pages.get(`/teams/${teamId}`)).html);
    expect(late).toMatch(/stale evt_late .* – A newer event of the same .* evt_end /);
    expect(end).toMatch(/applied evt_end .* Pro \(trialing\) → no plan \(canceled\) It was the/);
    expect(first).toMatch(/applied evt_first .* no plan yet → Pro \(trialing\)/);
  });

  test('has what operators and the app did to the plan', async () => {
    const { deliver, teamId } = await arrange();
    await deliver(0);
    await press(teamId, 'unlink');
    await pages.post('/actions', {
      one: `dismiss team:${teamId}`,
      note: 'launch partner',
      until: '2999-12-31',
      confirmed: 'yes',
    });
    const rows = rowsOf((await pages.get(`/teams/${teamId}`)).html);
    expect(rows).toHaveLength(3);
    expect(rows[0]).toMatch(/dismiss by localhost .*until 2999-12-31.* “ launch partner ”/);
    expect(rows[1]).toMatch(/unlink by localhost Pro → no plan yet /);
    expect(rows[2]).toContain('no plan yet → Pro');
  });
});

describe('the comparison with Stripe', () => {
  test('shows a difference, and repairs it on request', async () => {
    const { happen, teamId } = await arrange();
    await happen(0, { status: 'active' });
    await happen(60, { status: 'canceled' }, 'missed');
    const compared = await press(teamId, 'compare');
    expect(compared.html).toContain('data-result="out-of-sync"');
    expect(compared.html).not.toContain('notice done');
    expect(compared.html).toContain('data-issue="out-of-sync"');
    expect(compared.text).toMatch(/Pro → no plan \(canceled\)/);
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('active');

    const repaired = await press(teamId, 'repair');
    expect(repaired.html).toContain('data-result="repaired"');
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('canceled');
    expect((await press(teamId, 'compare')).html).toContain('data-result="in-sync"');
  });
});

describe("a team's customer", () => {
  const setCustomer = (teamId: ApplicationId, customerId: string | null) =>
    database.query('update teams set provider_customer_id = $2 where id = $1', [
      teamId,
      customerId,
    ]);
  const linkAgain = async (html: string) => await pages.post('/actions', fieldsOf(html, 'link'));

  test('is unlinked, unless it has changed since, and linked again', async () => {
    const { deliver, teamId } = await arrange();
    await deliver(0);
    const customerId = `cus_${count}`;
    const path = `/teams/${teamId}`;
    const { html, text } = await pages.get(path);
    expect(text).toContain(`The team loses the customer ${customerId} and the plan`);
    const fields = fieldsOf(html, `unlink team:${teamId}`);
    await setCustomer(teamId, 'cus_of_colleague');
    const refused = await pages.post('/actions', fields);
    expect(refused.html).toContain('data-result="has-another-customer"');
    await setCustomer(teamId, customerId);
    const unlinked = await pages.post('/actions', fields);
    expect(unlinked.html).toContain('data-result="unlinked"');
    expect(await account.planOf(teamId)).toMatchObject({
      customerId: null,
      plan: { planName: null },
    });
    const linked = await linkAgain(unlinked.html);
    expect(linked.url).toMatch(new RegExp(`^${path}[?]done=`));
    expect(await account.planOf(teamId)).toMatchObject({ customerId, plan: { planName: 'Pro' } });
  });

  test('is replaced, and put back, unless it has changed since', async () => {
    const { deliver, teamId } = await arrange();
    await deliver(0);
    const former = `cus_${count}`;
    const customerId = `cus_other_of_${count}`;
    const other = { customerId, subscriptionId: 'sub_other', status: 'trialing' };
    await ingest([received(eventBody({ ...other, productId: 'prod_starter' }), Date.now())]);
    const path = `/teams/${teamId}`;
    const form = fieldsOf((await pages.get(path)).html, `link team:${teamId}`);
    const fields = [...form, [`link team:${teamId}`, customerId] as const];
    await setCustomer(teamId, null);
    const refused = await pages.post('/actions', fields);
    expect(refused.html).toContain('data-result="has-another-customer"');
    await setCustomer(teamId, former);
    const replaced = await pages.post('/actions', fields);
    expect(replaced.html).toContain('data-result="linked"');
    const plan = { providerSubscriptionId: 'sub_other' };
    expect(await account.planOf(teamId)).toMatchObject({ customerId, plan });
    await setCustomer(teamId, null);
    expect((await linkAgain(replaced.html)).html).toContain('data-result="has-another-customer"');
    expect(await account.planOf(teamId)).toMatchObject({ customerId: null });
    await setCustomer(teamId, customerId);
    await linkAgain(replaced.html);
    expect(await account.planOf(teamId)).toMatchObject({
      customerId: former,
      plan: { planName: 'Pro', subscriptionStatus: 'active' },
    });
  });

  test('hides a difference that is dismissed with a reason, and repairs it when asked', async () => {
    const { happen, teamId } = await arrange();
    await happen(0, { status: 'active' });
    await happen(60, { status: 'canceled' }, 'missed');
    await press(teamId, 'compare');
    const dismissed = await press(teamId, 'dismiss', {
      ...{ note: 'Partner deal', until: '', confirmed: 'yes' },
    });
    expect(dismissed.text).toContain('Dismissed until it changes: Partner deal');
    expect(dismissed.html).not.toContain('value="repair team:');
    const restore = fieldsOf(dismissed.html, `restore team:${teamId}`);
    const again = [...restore.filter(([name]) => name !== 'one'), ['confirmed', 'yes']] as const;
    await pages.post('/actions', [...again, ['one', `dismiss team:${teamId}`]]);
    const refused = await pages.post('/actions', restore);
    expect(refused.html).toContain('data-result="dismissed-again"');
    await press(teamId, 'restore');
    await press(teamId, 'repair');
    expect((await account.planOf(teamId))?.plan.subscriptionStatus).toBe('canceled');
  });
});

test.each(['/teams/999999', '/teams/0', '/teams/x', '/teams/99999999999'])(
  '%s is not found',
  async (path) => {
    expect((await pages.get(path)).status).toBe(404);
  },
);

describe('a plan without a subscription', () => {
  const plan = (teamId: ApplicationId, name: string) => ({ [`plan of team:${teamId}`]: name });

  test('is given, and another name than those of other teams is asked about', async () => {
    const { teamId, read } = await arrange();
    const asked = await press(teamId, 'set-plan', plan(teamId, 'Partner'));
    expect(asked.html).toContain(`name="new plan of team:${teamId}"`);
    expect(asked.html).toContain('value="Partner"');
    const isNew = { [`new plan of team:${teamId}`]: 'yes' };
    await press(teamId, 'set-plan', { ...plan(teamId, 'Partner'), ...isNew });
    expect(
      await database.query('select plan_name, subscription_status from teams where id = $1', [
        teamId,
      ]),
    ).toEqual([{ plan_name: 'Partner', subscription_status: 'active' }]);
    expect(await read()).toContain('Partner');
    const other = await arrange();
    expect((await pages.get(`/teams/${other.teamId}`)).html).toContain('<option value="Partner"');
  });

  test('is not offered where a subscription decides', async () => {
    const { teamId, deliver } = await arrange();
    await deliver(0);
    expect((await pages.get(`/teams/${teamId}`)).html).not.toContain('plan of team:');
  });
});

describe('whom a customer stands for', () => {
  const person = (name: string) => ({ name, email: 'ada@example.com' });

  test('is what Stripe says when the page is opened, asked once and never stored', async () => {
    const { teamId, read } = await arrange();
    const customerId = `cus_${count}`;
    account.customers.set({ id: customerId, ...person('Ada Lovelace') });
    account.calls.length = 0;
    const shown = [await read(), await read()];
    expect(shown.every((text) => text.includes('Ada Lovelace, ada@example.com'))).toBe(true);
    expect(account.calls).toEqual([`/v1/customers/${customerId}`]);
    const rows = await database.query(
      'select row_to_json(teams)::text as row from teams where id = $1',
      [teamId],
    );
    expect(JSON.stringify(rows)).not.toContain('ada@example.com');
  });

  test('is not said to a viewer', async () => {
    const { teamId } = await arrange();
    account.customers.set({ id: `cus_${count}`, ...person('Ada Lovelace') });
    const user = { name: 'grace', role: 'viewer' } as const;
    const { text } = await (await openConsole(database, { apiBase, user })).get(`/teams/${teamId}`);
    expect(text).toContain(`cus_${count}`);
    expect(text).not.toContain('Ada');
  });

  test('is missing where Stripe does not answer, and the rest of the page is there', async () => {
    const { teamId, read } = await arrange();
    account.fault = () => ({ status: 500, retryAfterSeconds: 0 });
    expect(await read()).toContain(`Team ${teamId}`);
    account.fault = undefined;
  });

  test('is said of those who wait for a team, the one that names this team first', async () => {
    const teamId = await addTeam(database.query, { name: 'New', customerId: null });
    const waiting = ['cus_a_waits', 'cus_z_waits'];
    for (const customerId of waiting) {
      account.customers.set({ id: customerId, ...person(`Owner of ${customerId}`) });
      const event = JSON.parse(eventBody({ customerId, subscriptionId: `sub_${customerId}` }));
      if (customerId === 'cus_z_waits') event.data.object.metadata = { teamId: String(teamId) };
      await ingest([received(JSON.stringify(event), Date.now())]);
    }
    const { text } = await pages.get(`/teams/${teamId}`);
    expect(text.indexOf('Owner of cus_z_waits')).toBeGreaterThan(0);
    expect(text.indexOf('Owner of cus_z_waits')).toBeLessThan(text.indexOf('Owner of cus_a_waits'));
  });
});
