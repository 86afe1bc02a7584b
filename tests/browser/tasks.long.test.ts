import { readFile } from 'node:fs/promises';
import { createLogger } from 'instep';
import { perform } from 'instep/operate';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectText, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { createContext } from '../support/internals/operations.ts';
import { addTeam } from '../support/internals/rows.ts';
import { connect, createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const browser = useBrowser();
const { database, url } = await createDatabase();
const { query } = database;
const ingest = openPipeline(database);

await query(`
  create table team_members (id serial, user_id integer, team_id integer, role text);
  insert into instep.products (product_id, name) values ('prod_pro', 'Pro'), ('prod_basic', 'Basic')`);
const pages = await openConsole(connect(url));

/** A person who works in the console. Each click, each choice and each entry, a text with or without Enter, is an action. */
class Operator {
  actions = 0;
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator, options: Parameters<Locator['click']>[0] = {}): Promise<void> {
    this.actions += 1;
    await target.click(options);
  }

  async enter(target: Locator, text: string, key?: 'Enter'): Promise<void> {
    this.actions += 1;
    await target.fill(text);
    if (key !== undefined) await target.press(key);
  }

  async choose(target: Locator, option: string): Promise<void> {
    this.actions += 1;
    await target.selectOption(option);
  }

  link = (name: string | RegExp) => this.page.getByRole('link', { name }).first();
  button = (name: string | RegExp) => this.page.getByRole('button', { name }).first();
  text = () => this.page.getByRole('main').innerText();

  search = (text: string) => this.enter(this.page.locator('#search'), text, 'Enter');
}

const NOW_SECONDS = Math.floor(Date.now() / 1_000);

type Fields = Parameters<typeof eventBody>[0];
const deliver = (fields: Fields, receivedAtMs = Date.now()) =>
  ingest([received(eventBody({ productId: 'prod_pro', ...fields }), receivedAtMs)]);

/** Parks an event, whose metadata can name a team. */
async function park(customerId: string, teamId?: unknown): Promise<void> {
  const event = JSON.parse(eventBody({ customerId, subscriptionId: `sub_${customerId}` }));
  if (teamId !== undefined) event.data.object.metadata = { teamId: String(teamId) };
  await ingest([received(JSON.stringify(event), Date.now() - 3_600_000)]);
}

const customerOf = async (teamId: unknown) =>
  (await query('select provider_customer_id as id from teams where id = $1', [teamId]))[0];

const planOf = async (teamId: unknown) =>
  (await query('select plan_name as plan from teams where id = $1', [teamId]))[0];

describe.each([
  ['1440', { width: 1_440, height: 900 }],
  ['390', { width: 390, height: 800 }],
])('at %s px', (width, viewport) => {
  async function open(path = '/'): Promise<Operator> {
    const page = await browser.newPage({ viewport, reducedMotion: 'reduce' });
    await page.goto(pages.url + path);
    return new Operator(page);
  }

  test('1. "I paid, but have no plan" takes 2 actions from an address, and 3 from a name that several have', async () => {
    const [email, name] = [`ada${width}@example.com`, `Paid ${width}`];
    const teamIds = [1, 2].map(() => addTeam(query, { name, customerId: null }));
    const [ofAda, ofBob] = await Promise.all(teamIds);
    await query(
      `with ada as (insert into users (email, password_hash) values ($1, '') returning id)
       insert into team_members (user_id, team_id) select id, $2 from ada`,
      [email, ofAda],
    );
    for (const [text, teamId, actions] of [
      [email, ofAda, 2],
      [name, ofBob, 3],
    ] as const) {
      const customerId = `cus_${teamId}_paid${width}`;
      await park(customerId, teamId);
      const kim = await open();
      await kim.search(text);
      if (actions === 3) await kim.click(kim.page.locator(`td a[href="/teams/${teamId}"]`));
      await kim.page.waitForURL(`**/teams/${teamId}`);
      const row = kim.page.getByRole('row').filter({ hasText: customerId });
      await expectText(row).toMatch(/paid 60\smin without a plan/);
      await kim.click(row.getByRole('button', { name: 'Link team' }));
      await kim.page.locator('[data-status="has plan"]').waitFor();
      expect(kim.actions).toBe(actions);
    }
  });

  test('2. a waiting customer is linked with 2 actions, also if no team is suggested, and unlinked with 1', async () => {
    const teamId = await addTeam(query, { name: `Suggested ${width}`, customerId: null });
    await park(`cus_a_suggested${width}`, teamId);
    const bob = await open();
    await bob.click(bob.link('Link team…'));
    const field = bob.page.getByLabel(`Team for customer:cus_a_suggested${width}`);
    const row = bob.page.getByRole('row').filter({ has: field });
    await bob.click(row.getByRole('button', { name: 'Link team' }));
    await bob.page.locator('[data-result=linked]').waitFor();
    expect(await customerOf(teamId)).toEqual({ id: `cus_a_suggested${width}` });
    expect(bob.actions).toBe(2);

    const other = await addTeam(query, { name: `Unsuggested ${width}`, customerId: null });
    await park(`cus_a_alone${width}`);
    const eve = await open();
    await eve.click(eve.link('Link team…'));
    const alone = eve.page.getByLabel(`Team for customer:cus_a_alone${width}`);
    await eve.enter(alone, `Unsuggested ${width}`, 'Enter');
    await eve.page.locator('[data-result=linked]').waitFor();
    expect(await customerOf(other)).toEqual({ id: `cus_a_alone${width}` });
    expect(eve.actions).toBe(2);

    await eve.click(eve.button('Unlink'));
    await eve.page.locator('[data-result=unlinked]').waitFor();
    expect(await customerOf(other)).toEqual({ id: null });
    expect(eve.actions).toBe(3);
  });

  test('4. the unpaid teams that were on Pro are exported with 4 actions', async () => {
    for (const [name, productId] of Object.entries({ Kea: 'prod_pro', Moa: 'prod_basic' })) {
      const customerId = `cus_${name}${width}`;
      await addTeam(query, { name: `${name} ${width}`, customerId });
      const event = { customerId, subscriptionId: `sub_${name}${width}`, productId };
      await deliver({ ...event, createdSeconds: NOW_SECONDS - 600 });
      await deliver({ ...event, createdSeconds: NOW_SECONDS - 60, status: 'unpaid' });
    }
    const kim = await open();
    await kim.click(kim.link('Teams'));
    await kim.choose(kim.page.getByLabel('Status'), 'unpaid');
    await kim.enter(kim.page.getByLabel('Plan', { exact: true }), 'Pro', 'Enter');
    const downloading = kim.page.waitForEvent('download');
    await kim.click(kim.link('CSV'));
    const file = await readFile(await (await downloading).path(), 'utf8');
    expect(file).toContain(`Kea ${width}`);
    expect(file).not.toContain(`Moa ${width}`);
    expect(kim.actions).toBe(4);
  });

  test('6. what changed on a team, by whom, with the payload, takes 3 actions', async () => {
    const context = createContext({
      ...{ database, stripeApi: null, planSelection: 'newest' },
      ...{ logger: createLogger('silent'), now: Date.now, close: async () => undefined },
    });
    const teamId = await addTeam(query, { name: `Tango ${width}`, customerId: null });
    const customerId = `cus_tango${width}`;
    await deliver({ customerId, subscriptionId: `sub_tango${width}`, eventId: `evt_t${width}` });
    const request = { action: 'link', subject: { kind: 'customer', id: customerId } } as const;
    const by = { name: 'grace', how: 'console' } as const;
    await perform(context, by, [{ ...request, linkTo: String(teamId), expectedCustomerId: null }]);
    const lou = await open();
    await lou.search(`Tango ${width}`);
    await lou.page.waitForURL(`**/teams/${teamId}`);
    expect(await lou.text()).toContain('grace');
    await lou.click(lou.link(`evt_t${width}`));
    await lou.click(lou.page.getByText(/^All [\d,]+ bytes$/));
    await expectText(lou.page).toContain(`"sub_tango${width}"`);
    expect(lou.actions).toBe(3);
  });

  test('7. a free plan takes 3 actions, also to take it away', async () => {
    const teamId = await addTeam(query, { name: `Gift ${width}`, customerId: null });
    const pia = await open();
    await pia.search(`Gift ${width}`);
    await pia.click(pia.page.getByText('Give a plan'));
    await pia.enter(pia.page.getByLabel('Plan', { exact: true }), 'Pro', 'Enter');
    await pia.page.locator('[data-result=plan-set]').waitFor();
    expect(await planOf(teamId)).toEqual({ plan: 'Pro' });
    expect(pia.actions).toBe(3);
    await pia.click(pia.page.getByText('Give another plan, or take it away'));
    await pia.click(pia.button('Take the plan away'));
    await expect.poll(() => planOf(teamId)).toEqual({ plan: null });
    expect(pia.actions).toBe(5);
  });

  test('3. 200 chosen rows are resolved with 4 actions, of which one confirms', async () => {
    await query('truncate instep.events, instep.operator_actions');
    const bodies = Array.from({ length: 210 }, (_, index) =>
      eventBody({ customerId: `cus_many${index}`, subscriptionId: `sub_${index}` }),
    );
    await ingest(bodies.map((body) => received(body, Date.now() - 3_600_000)));
    const tom = await open();
    await tom.click(tom.link('Link team…'));
    await tom.click(tom.link('Select all rows'));
    await tom.click(tom.page.locator('.toolbar').getByRole('button', { name: 'Dismiss' }));
    await tom.click(tom.button('Dismiss 200 issues'));
    await expectText(tom.page).toContain('200 done');
    expect(tom.actions).toBe(4);
  });
});
