import type { ApplicationId } from 'instep';
import { describe, expect, test } from 'vitest';
import { fieldsOf, openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { connect } from '../support/postgres/test-database.ts';
import { type eventBody, receivedEvent, waitingEvent } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest } = account;
const apiBase = account.environment.STRIPE_API_BASE ?? '';
const pages = await openConsole(database, { apiBase });

type EventFields = NonNullable<Parameters<typeof eventBody>[0]>;

const BEGIN_SECONDS = 1_790_000_000;
let count = 0;

/** A team, its customer, and functions that deliver events to it. */
async function arrange() {
  count += 1;
  const customerId = `cus_${count}`;
  const teamId = await addTeam(database.query, { name: 'Acme', customerId });
  const eventOf = (secondsLater: number, more: EventFields): EventFields => ({
    ...{ customerId, subscriptionId: `sub_${count}`, productId: 'prod_pro' },
    createdSeconds: BEGIN_SECONDS + secondsLater,
    ...more,
  });
  return {
    teamId,
    customerId,
    deliver: (secondsLater: number, more: EventFields = {}) =>
      ingest([receivedEvent(eventOf(secondsLater, more))]),
    happen: (secondsLater: number, more: EventFields, how?: 'delivered' | 'missed') =>
      account.happen(eventOf(secondsLater, more), how),
    get: () => pages.get(`/teams/${teamId}`),
  };
}

/** A customer as Stripe's API returns it. */
const customerOf = (id: string, name: string, email = 'ada@example.com') => ({ id, name, email });

const newTeam = () => addTeam(database.query, { name: 'New', customerId: null });

/** Presses a button of the team's page. */
const press = (teamId: ApplicationId, action: string, entered?: Record<string, string>) =>
  pages.press(`/teams/${teamId}`, `${action} team:${teamId}`, entered);
const link = (teamId: ApplicationId, customerId: string) =>
  press(teamId, 'link', { [`link team:${teamId}`]: customerId });

describe('a team without a customer', () => {
  test('is linked to one of those that wait for a team, the one that names this team first', async () => {
    const teamId = await newTeam();
    const none = await pages.get(`/teams/${teamId}`);
    expect(none.html).toContain('data-status="unlinked"');
    expect(none.text).toContain('No customer waits for a team.');
    for (const id of ['cus_a_waits', 'cus_z_waits']) {
      account.customers.set(customerOf(id, `Owner of ${id}`));
    }
    await ingest([waitingEvent('cus_a_waits'), waitingEvent('cus_z_waits', teamId)]);
    const { html, text } = await pages.get(`/teams/${teamId}`);
    expect(text).toMatch(/Owner of cus_z_waits.* for Pro .*Owner of cus_a_waits/);
    expect(html).toContain(`name="link team:${teamId}" value="cus_z_waits"`);
    expect((await link(teamId, 'cus_z_waits')).html).toContain('data-status="has plan"');
  });

  test('is offered the customer with the address of one of its people before others', async () => {
    const own = await openAccount();
    const { DATABASE_URL = '', STRIPE_API_BASE } = own.environment;
    await own.database.query(`
      create table team_members (id serial, user_id integer, team_id integer, role text);
      insert into users (id, name, email, password_hash) values (1, 'Ada', 'ada@example.com', '');
      insert into teams (id, name) values (7, 'Engines'), (8, 'Looms');
      insert into team_members (user_id, team_id) values (1, 7)`);
    own.customers.set(customerOf('cus_a', 'Bob', 'bob@example.com'));
    own.customers.set(customerOf('cus_z', 'Owner', 'Ada@example.com'));
    await own.ingest([waitingEvent('cus_a'), waitingEvent('cus_z')]);
    const consoleOf = await openConsole(connect(new URL(DATABASE_URL)), {
      apiBase: STRIPE_API_BASE ?? '',
    });
    expect((await consoleOf.get('/teams/7')).text).toMatch(/Owner.*Bob/);
    expect((await consoleOf.get('/teams/8')).text).toMatch(/Bob.*Owner/);
    // Wherever the customer can be linked, this team is suggested.
    for (const path of ['/attention', '/teams?search=cus_z', '/events/2']) {
      const { html, text } = await consoleOf.get(path);
      expect(html).toMatch(/name="link customer:cus_z"[^>]* value="7"/);
      expect(text).toMatch(/Owner, Ada@example.com Its address is of a person of the team Engines/);
    }
  });

  test('keeps a customer that could not be linked, with the error', async () => {
    const { html } = await link(await newTeam(), 'Acme');
    expect(html).toMatch(/<input[^>]* value="Acme"[^>]*aria-invalid="true"/);
    expect(html).toMatch(/<p class="error"[^>]*>Stripe does not know customer/);
  });
});

describe('the timeline', () => {
  /** The texts of the items' rows. */
  const rowsOf = (html: string) =>
    html
      .slice(html.indexOf('id="timeline"'))
      .split('<tr>')
      .filter((row) => row.startsWith('<td'))
      .map((row) => row.replace(/<\/tr>.*/s, '').replace(/(?:<[^>]*>|\s)+/g, ' '));

  test('shows what each event changed, or why it changed nothing', async () => {
    const { deliver, get } = await arrange();
    await deliver(0, { eventId: 'evt_first', status: 'trialing' });
    await deliver(120, { eventId: 'evt_end', status: 'canceled' });
    await deliver(60, { eventId: 'evt_late', status: 'active' });
    const [late, end, first] = rowsOf((await get()).html);
    expect(late).toMatch(/stale evt_late .* – A newer event decides: evt_end /);
    expect(end).toMatch(/applied evt_end .* Pro \(trialing\) → no plan \(canceled\) It was the/);
    expect(first).toMatch(/applied evt_first .* no plan yet → Pro \(trialing\)/);
  });

  test('has what operators and the app did to the plan', async () => {
    const { deliver, get, teamId } = await arrange();
    await deliver(0);
    await press(teamId, 'unlink');
    const dismissal = { note: 'launch partner', confirmed: 'yes' };
    await pages.post('/actions', { one: `dismiss team:${teamId}`, ...dismissal });
    const rows = rowsOf((await get()).html);
    expect(rows).toHaveLength(3);
    expect(rows[0]).toMatch(/dismiss by localhost .*“ launch partner ”/);
    expect(rows[1]).toMatch(/unlink by localhost Pro → no plan yet /);
    expect(rows[2]).toContain('no plan yet → Pro');
  });
});

describe('the comparison with Stripe', () => {
  async function arrangeMissed() {
    const team = await arrange();
    await team.happen(0, { status: 'active' });
    await team.happen(60, { status: 'canceled' }, 'missed');
    const compared = await press(team.teamId, 'compare');
    return { ...team, compared };
  }
  const statusOf = async (teamId: ApplicationId) =>
    (await account.planOf(teamId))?.plan.subscriptionStatus;

  test('shows a difference, and repairs it on request', async () => {
    const { teamId, compared } = await arrangeMissed();
    expect(compared.results).toEqual(['out-of-sync']);
    expect(compared.html).not.toContain('notice done');
    expect(compared.html).toContain('data-issue="out-of-sync"');
    expect(compared.text).toMatch(/Pro → no plan \(canceled\)/);
    expect(await statusOf(teamId)).toBe('active');
    expect((await press(teamId, 'repair')).results).toEqual(['repaired']);
    expect(await statusOf(teamId)).toBe('canceled');
    expect((await press(teamId, 'compare')).results).toEqual(['in-sync']);
  });

  test('says that Stripe does not know the customer, and links another one', async () => {
    const { deliver, get, teamId } = await arrange();
    await deliver(0);
    const { html, results } = await press(teamId, 'compare');
    expect(results).toEqual(['unknown-customer']);
    expect(html).toContain('href="#link"');
    expect(html).toContain(`value="unlink team:${teamId}"`);
    account.customers.set({ id: 'cus_other' });
    expect((await link(teamId, 'cus_other')).text).toContain('Linked to cus_other.');
    expect((await get()).html).not.toContain('data-issue');
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
    const { customerId, deliver, get, teamId } = await arrange();
    await deliver(0);
    const { html, text } = await get();
    expect(text).toContain(`The team loses the customer ${customerId} and the plan`);
    const fields = fieldsOf(html, `unlink team:${teamId}`);
    await setCustomer(teamId, 'cus_of_colleague');
    expect((await pages.post('/actions', fields)).results).toEqual(['has-another-customer']);
    await setCustomer(teamId, customerId);
    const unlinked = await pages.post('/actions', fields);
    expect(unlinked.results).toEqual(['unlinked']);
    expect(await account.planOf(teamId)).toMatchObject({
      customerId: null,
      plan: { planName: null },
    });
    expect((await linkAgain(unlinked.html)).url).toMatch(/^\/teams\/\d+[?]done=/);
    expect(await account.planOf(teamId)).toMatchObject({ customerId, plan: { planName: 'Pro' } });
  });

  test('is replaced, and put back, unless it has changed since', async () => {
    const { customerId: former, deliver, teamId } = await arrange();
    await deliver(0);
    const customerId = `cus_other_of_${count}`;
    await ingest([waitingEvent(customerId)]);
    const replaced = await link(teamId, customerId);
    const plan = { providerSubscriptionId: `sub_${customerId}` };
    expect(await account.planOf(teamId)).toMatchObject({ customerId, plan });
    await setCustomer(teamId, null);
    expect((await linkAgain(replaced.html)).results).toEqual(['has-another-customer']);
    await setCustomer(teamId, customerId);
    await linkAgain(replaced.html);
    expect(await account.planOf(teamId)).toMatchObject({
      customerId: former,
      plan: { planName: 'Pro', subscriptionStatus: 'active' },
    });
  });
});

test.each(['/teams/999999', '/teams/x'])('%s is not found', async (path) => {
  expect((await pages.get(path)).status).toBe(404);
});

describe('a plan without a subscription', () => {
  test('is given, and another name than those of other teams is asked about', async () => {
    const { teamId } = await arrange();
    const plan = { [`plan of team:${teamId}`]: 'Partner' };
    const asked = await press(teamId, 'set-plan', plan);
    expect(asked.html).toContain(`name="new plan of team:${teamId}"`);
    expect(asked.html).toContain('value="Partner"');
    await press(teamId, 'set-plan', { ...plan, [`new plan of team:${teamId}`]: 'yes' });
    expect((await account.planOf(teamId))?.plan).toMatchObject({
      ...{ planName: 'Partner', subscriptionStatus: 'active' },
    });
    expect((await (await arrange()).get()).html).toContain('<option value="Partner"');
  });

  test('is not offered where a subscription decides', async () => {
    const { deliver, get } = await arrange();
    await deliver(0);
    expect((await get()).html).not.toContain('plan of team:');
  });
});

describe('whom a customer stands for', () => {
  async function arrangePerson() {
    const team = await arrange();
    account.customers.set(customerOf(team.customerId, 'Ada Lovelace'));
    account.calls.length = 0;
    return team;
  }

  test('is what Stripe says when the page is opened, asked once and never stored', async () => {
    const { customerId, get, teamId } = await arrangePerson();
    for (const { text } of [await get(), await get()]) {
      expect(text).toContain('Ada Lovelace, ada@example.com');
    }
    expect(account.calls).toEqual([`/v1/customers/${customerId}`]);
    const statement = 'select row_to_json(teams)::text as row from teams where id = $1';
    const rows = await database.query(statement, [teamId]);
    expect(JSON.stringify(rows)).not.toContain('ada@example.com');
  });

  test('is not said to a viewer', async () => {
    const { customerId, teamId } = await arrangePerson();
    const user = { name: 'grace', role: 'viewer' } as const;
    const { text } = await (await openConsole(database, { apiBase, user })).get(`/teams/${teamId}`);
    expect(text).toContain(customerId);
    expect(text).not.toContain('Ada');
  });

  test('is missing where Stripe does not answer, and the rest of the page is there', async () => {
    const { get, teamId } = await arrangePerson();
    account.fault = () => ({ status: 500, retryAfterSeconds: 0 });
    expect((await get()).text).toContain(`Team ${teamId}`);
    account.fault = undefined;
  });
});
