import { beforeAll, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const { query } = database;
const pages = await openConsole(database);
const ingest = openPipeline(database);

const PRODUCTS = { Pro: 'prod_pro', Basic: 'prod_basic' } as const;

/** A team that had this plan, with the status of its newest event. */
async function addSubscribed(name: string, plan: keyof typeof PRODUCTS, status: string) {
  const customerId = `cus_${name.toLowerCase()}`;
  await addTeam(query, { name, customerId });
  const event = { customerId, subscriptionId: `sub_${name}`, productId: PRODUCTS[plan] };
  await ingest([receivedEvent({ ...event, status: 'active', createdSeconds: 1_000 })]);
  const newest = { ...event, status, createdSeconds: 86_400 };
  if (status !== 'active') await ingest([receivedEvent(newest)]);
  return newest;
}

beforeAll(async () => {
  expect((await pages.get('/teams')).text).toContain('No teams yet');
  await query(
    `insert into instep.products (product_id, name) values ('prod_pro', 'Pro'), ('prod_basic', 'Basic')`,
  );
  await addSubscribed('Delta', 'Pro', 'unpaid');
  await addSubscribed('Alpha', 'Pro', 'active');
  await addSubscribed('Charlie', 'Basic', 'unpaid');
  await addSubscribed('Bravo', 'Pro', 'unpaid');
  const echo = await addSubscribed('Echo', 'Basic', 'canceled');
  // Of one second, and nothing shows which came last.
  await ingest([receivedEvent({ ...echo, status: 'unpaid' }), receivedEvent(echo)]);
  await addTeam(query, { name: 'Foxtrot', customerId: null });
  await query(
    `insert into instep.findings (customer_id, team_id, problem)
     values ('cus_alpha', '2', 'missed event'), ('cus_delta', '1', 'changed by hand')`,
  );
});

async function namesOn(path: string): Promise<string[]> {
  const { html, status } = await pages.get(path);
  expect(status).toBe(200);
  return [...html.matchAll(/<a href="\/teams\/\d+"><bdi>(\w+)/g)].map(([, name = '']) => name);
}

test('the unpaid teams that were on Pro are one click from the unpaid ones', async () => {
  const unpaid = '/teams?status=unpaid';
  expect(await namesOn(unpaid)).toEqual(['Delta', 'Charlie', 'Bravo']);
  const onPro = (await pages.get(unpaid)).hrefOf('was Pro') ?? '';
  expect(onPro).toBe('/teams?status=unpaid&plan=Pro');
  expect(await namesOn(onPro)).toEqual(['Delta', 'Bravo']);
  expect((await pages.get(onPro)).hrefOf('Show all')).toBe('/teams');
});

test.each([
  ['', ['Delta', 'Alpha', 'Charlie', 'Bravo', 'Echo', 'Foxtrot']],
  ['status=active', ['Alpha']],
  ['status=none', ['Foxtrot']],
  ['plan=Basic', ['Charlie', 'Echo']],
  ['plan=prod_pro', ['Delta', 'Alpha', 'Bravo']],
  ['status=unpaid&plan=Basic&search=CHAR', ['Charlie']],
  ['status=%27%3B&plan=%00', []],
])('filters by %j', async (parameters, names) => {
  expect(await namesOn(`/teams?${parameters}`)).toEqual(names);
});

test('the teams of a product without a name are 1 click from the overview', async () => {
  await database.query(
    `insert into instep.products (product_id, looked_up_at) values ('prod_pro', now())
     on conflict (product_id) do update set name = null, looked_up_at = now()`,
  );
  const teams = (await pages.get('/')).hrefOf('Teams of prod_pro') ?? '';
  expect(await namesOn(teams)).toEqual(['Delta', 'Alpha', 'Bravo']);
});

test('since when a payment is due is shown and exported', async () => {
  await addSubscribed('Hotel', 'Pro', 'past_due');
  const isDue = async (name: string) =>
    /active , payment due Pro/.test((await pages.get(`/teams?search=${name}`)).text);
  expect(await isDue('Hotel')).toBe(true);
  expect(await isDue('Alpha')).toBe(false);
  expect(await namesOn('/teams?status=past_due')).toEqual(['Hotel']);
  const { html } = await pages.get('/teams?search=Hotel&format=csv');
  expect(html).toContain('1970-01-02T00:00:00.000Z');
  // An old subscription that was left unpaid is not the one that decides the plan.
  await query(`update teams set provider_subscription_id = 'sub_other' where name = 'Hotel'`);
  expect(await isDue('Hotel')).toBe(false);
});

test('a team without a plan shows which one it lost', async () => {
  const { text } = await pages.get('/teams?status=canceled');
  expect(text).toMatch(/Echo 5 canceled was Basic cus_echo/);
  const team = await pages.get('/teams/5');
  expect(team.text).toMatch(/was canceled\. It has been canceled since .* ; its plan was Basic/);
});
