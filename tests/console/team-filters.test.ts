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
  if (status !== 'active') {
    await ingest([receivedEvent({ ...event, status, createdSeconds: 2_000 })]);
  }
  return { ...event, status, createdSeconds: 2_000 };
}

beforeAll(async () => {
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

/** The address of the link with this text. */
async function follow(path: string, text: RegExp): Promise<string> {
  const { html } = await pages.get(path);
  const links = [...html.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs)];
  const [, href = ''] =
    links.find(([, , inner = '']) => text.test(inner.replace(/<[^>]*>/g, '').trim())) ?? [];
  return href.replaceAll('&amp;', '&');
}

test('all unpaid teams that were on Pro are 2 clicks from the overview', async () => {
  const unpaid = await follow('/', /^unpaid$/);
  expect(await namesOn(unpaid)).toEqual(['Delta', 'Charlie', 'Bravo']);
  const onPro = await follow(unpaid, /^was Pro$/);
  expect(onPro).toBe('/teams?status=unpaid&plan=Pro');
  expect(await namesOn(onPro)).toEqual(['Delta', 'Bravo']);
  expect(await follow(onPro, /^Show all$/)).toBe('/teams');
});

test.each([
  ['', ['Delta', 'Alpha', 'Charlie', 'Bravo', 'Echo', 'Foxtrot']],
  ['status=active', ['Alpha']],
  ['status=none', ['Foxtrot']],
  ['plan=Basic', ['Charlie', 'Echo']],
  ['plan=prod_pro', ['Delta', 'Alpha', 'Bravo']],
  ['issue=unknown-order', ['Echo']],
  ['issue=out-of-sync', ['Alpha']],
  ['issue=changed-by-hand', ['Delta']],
  ['status=unpaid&plan=Basic&search=CHAR', ['Charlie']],
  ['status=%27%3B&plan=%00', []],
])('filters by %j', async (parameters, names) => {
  expect(await namesOn(`/teams?${parameters}`)).toEqual(names);
});

test('the export has what is listed, and the search keeps the filters', async () => {
  const { html } = await pages.get('/teams?status=unpaid&format=csv');
  expect(html.split('\r\n').map((row) => row.split(',')[1])).toEqual([
    ...['name', 'Delta', 'Charlie', 'Bravo', undefined],
  ]);
  const { html: form } = await pages.get('/teams?status=unpaid&plan=Pro&issue=out-of-sync');
  expect(form).toMatch(/<option value="unpaid" selected/);
  expect(form).toMatch(/<option value="out-of-sync" selected/);
  expect(form).toMatch(/name="plan"[^>]* value="Pro"/);
});

test('since when a payment is due is shown and exported', async () => {
  await addTeam(query, { name: 'Hotel', customerId: 'cus_hotel' });
  const event = { customerId: 'cus_hotel', subscriptionId: 'sub_Hotel', productId: 'prod_pro' };
  await ingest([receivedEvent({ ...event, status: 'active', createdSeconds: 1_000 })]);
  await ingest([receivedEvent({ ...event, status: 'past_due', createdSeconds: 86_400 })]);
  const isDue = async (name: string) =>
    /active , payment due Pro/.test((await pages.get(`/teams?search=${name}`)).text);
  expect(await isDue('Hotel')).toBe(true);
  expect(await isDue('Alpha')).toBe(false);
  const { html } = await pages.get('/teams?search=Hotel&format=csv');
  expect(html).toContain('1970-01-02T00:00:00.000Z');
  // An old subscription that was left unpaid is not the one that decides the plan.
  await query(`update teams set provider_subscription_id = 'sub_other' where name = 'Hotel'`);
  expect(await isDue('Hotel')).toBe(false);
  await query(`delete from teams where name = 'Hotel'`);
});

test('a team without a plan shows which one it lost', async () => {
  const { text } = await pages.get('/teams?status=canceled');
  expect(text).toMatch(/Echo 5 canceled was Basic cus_echo/);
  const team = await pages.get('/teams/5');
  expect(team.text).toMatch(
    /was canceled\. The customer has had no plan since .* ; before that, it had Basic/,
  );
});

test('every team is on exactly one page in both directions', async () => {
  await query(`insert into teams (name) select 'Many' from generate_series(1, 130)`);
  const onwards: string[][] = [];
  let last = '/teams';
  for (let next = last; next !== ''; next = await follow(next, /^Next$/)) {
    onwards.push(await idsOn(next));
    last = next;
  }
  expect(onwards.map(({ length }) => length)).toEqual([50, 50, 36]);
  expect(new Set(onwards.flat()).size).toBe(136);
  const back: string[][] = [];
  for (let next = last; next !== ''; next = await follow(next, /^Previous$/)) {
    back.push(await idsOn(next));
  }
  // The last step back shows the first page.
  expect(back.at(-1)).toEqual(onwards[0]);
  expect(new Set(back.flat()).size).toBe(136);
});

async function idsOn(path: string): Promise<string[]> {
  const { html } = await pages.get(path);
  return [...html.matchAll(/<a href="\/teams\/(\d+)"><bdi>/g)].map(([, id = '']) => id);
}

/** Of every object, so that an object is no map of texts that others write. */
test.each(['constructor', '__proto__', 'toString'])(
  'a status, a plan, a product and a filter can be %s',
  async (text) => {
    await query(
      `insert into teams
              (name, provider_customer_id, subscription_status, plan_name, provider_product_id)
       values ($1, 'cus_' || $1, $1, $1, $1)`,
      [text],
    );
    for (const path of ['/', '/teams', '/attention', '/search?q=', '/events', '/compare']) {
      expect(await pages.get(path)).toMatchObject({ status: 200 });
    }
    for (const field of [
      'status',
      'plan',
      'product',
      'issue',
      'search',
      'sort',
      'customer',
      text,
    ]) {
      for (const path of ['/teams', '/events', '/attention', '/actions', '/']) {
        const { status } = await pages.get(`${path}?${field}=${text}`);
        expect([200, 302, 400, 404]).toContain(status);
      }
    }
  },
);
