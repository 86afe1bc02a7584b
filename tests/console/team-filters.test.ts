import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { countTeamsNow } from '../support/service/leased-jobs.ts';
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
}

beforeAll(async () => {
  await query(
    `insert into instep.products (product_id, name) values ('prod_pro', 'Pro'), ('prod_basic', 'Basic')`,
  );
  await addSubscribed('Delta', 'Pro', 'unpaid');
  await addSubscribed('Alpha', 'Pro', 'active');
  await addSubscribed('Charlie', 'Basic', 'unpaid');
  await addSubscribed('Bravo', 'Pro', 'unpaid');
  await addSubscribed('Echo', 'Basic', 'canceled');
  await addTeam(query, { name: 'Foxtrot', customerId: null });
  await query(
    `update instep.subscriptions set is_order_ambiguous = true where customer_id = 'cus_echo'`,
  );
  await query(
    `insert into instep.findings (customer_id, team_id, problem)
     values ('cus_alpha', '2', 'missed event'), ('cus_delta', '1', 'changed by hand')`,
  );
  await countTeamsNow(query);
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
  const onPro = await follow(unpaid, /^Pro 2$/);
  expect(await namesOn(onPro)).toEqual(['Delta', 'Bravo']);
});

test.each([
  ['status=active', ['Alpha']],
  ['status=none', ['Foxtrot']],
  ['plan=Basic', ['Charlie', 'Echo']],
  ['product=prod_pro', ['Delta', 'Alpha', 'Bravo']],
  ['issue=unknown-order', ['Echo']],
  ['issue=out-of-sync', ['Alpha']],
  ['issue=changed-by-hand', ['Delta']],
  ['issue=parked-events', []],
  ['status=unpaid&plan=Basic&search=CHAR', ['Charlie']],
  ['status=%27%3B&plan=%00', []],
  ['status=unpaid&status=canceled', ['Delta', 'Charlie', 'Bravo', 'Echo']],
  ['status=unpaid&status=canceled&plan=Basic', ['Charlie', 'Echo']],
  ['issue=out-of-sync&issue=changed-by-hand', ['Delta', 'Alpha']],
  ['due=1', ['Delta', 'Charlie', 'Bravo']],
  ['due=30&due=365', ['Delta', 'Charlie', 'Bravo']],
  ['due=1&plan=Basic', ['Charlie']],
  ['due=999999', []],
])('filters by %s', async (parameters, names) => {
  expect(await namesOn(`/teams?${parameters}`)).toEqual(names);
});

test('each filter shows how many teams match it and the others', async () => {
  const { text } = await pages.get('/teams');
  expect(text).toMatch(/Status unpaid 3 /);
  expect(text).toMatch(/Plan or last plan Pro 3 Basic 2 Product prod_pro 3 prod_basic 2/);
  for (const issue of ['out of sync', 'changed by hand', 'unknown order']) {
    expect(text).toMatch(new RegExp(`Issue .*\\b${issue} 1 `));
  }
  expect(text).toMatch(/6 teams in all, counted \d+ s ago\./);
  expect((await pages.get('/teams?search=nobody')).text).not.toContain('counted');
  const unpaid = await pages.get('/teams?status=unpaid');
  expect(unpaid.text).toMatch(/Plan or last plan Pro 2 Basic 1 .* Export all as CSV or JSON/);
  // The link of a chosen filter removes it.
  expect(await follow('/teams?status=unpaid&plan=Pro', /^unpaid/)).toBe('/teams?plan=Pro');
});

test('a second value of a filter is added to the first one, and the export has what is listed', async () => {
  const both = await follow('/teams?status=unpaid', /^canceled/);
  expect(both).toBe('/teams?status=unpaid&status=canceled');
  expect(await follow(both, /^unpaid/)).toBe('/teams?status=canceled');
  const { html } = await pages.get(`${both}&sort=-name&format=csv`);
  expect(html.split('\r\n').map((row) => row.split(',')[1])).toEqual([
    ...['name', 'Echo', 'Delta', 'Charlie', 'Bravo', undefined],
  ]);
  // The search keeps the filters.
  expect((await pages.get(both)).html.match(/type="hidden" name="status"/g)).toHaveLength(2);
});

test('since when a payment is due is shown, sorted and exported', async () => {
  await addSubscribed('Golf', 'Pro', 'unpaid');
  const at = new Date(Date.now() - 3 * 24 * 60 * 60 * 1_000).toISOString();
  await addTeam(query, { name: 'Hotel', customerId: 'cus_hotel' });
  const event = { customerId: 'cus_hotel', subscriptionId: 'sub_Hotel', productId: 'prod_pro' };
  await ingest([receivedEvent({ ...event, status: 'active', createdSeconds: 1_000 })]);
  const createdSeconds = Math.floor(Date.parse(at) / 1_000);
  await ingest([receivedEvent({ ...event, status: 'past_due', createdSeconds })]);
  expect(await namesOn('/teams?due=2&plan=Pro&sort=-due')).toEqual([
    ...['Hotel', 'Golf', 'Bravo', 'Delta'],
  ]);
  expect(await namesOn('/teams?due=7&plan=Pro')).not.toContain('Hotel');
  const badge = (tone: string) => new RegExp(`class="badge ${tone}"[^>]*><bdi[^>]*>active`);
  expect((await pages.get('/teams?search=Hotel')).html).toMatch(badge('warning'));
  expect((await pages.get('/teams?search=Alpha')).html).toMatch(badge('good'));
  const { html } = await pages.get('/teams?due=2&search=Hotel&format=csv');
  expect(html).toContain(new Date(createdSeconds * 1_000).toISOString());
  // An old subscription that was left unpaid is not the one that decides the plan.
  await query(
    `update teams set subscription_status = 'active', provider_subscription_id = 'sub_other' where name = 'Golf'`,
  );
  expect(await namesOn('/teams?due=1')).not.toContain('Golf');
  await query(`delete from teams where name in ('Golf', 'Hotel')`);
});

test('with too many teams to sort, those of a filter can be', async () => {
  await query(
    `update instep.leased_jobs
        set progress = jsonb_set(progress, '{groups}', progress -> 'groups' ||
              '[{"status":"active","plan":"Huge","product":null,"issues":[],"teams":20000}]')
      where name = 'team-counts'`,
  );
  try {
    expect((await pages.get('/teams?sort=name')).text).toContain('Sorted by id.');
    expect(await namesOn('/teams?sort=name&status=unpaid')).toEqual(['Bravo', 'Charlie', 'Delta']);
    expect(await namesOn('/teams?sort=name&due=1')).toEqual(['Bravo', 'Charlie', 'Delta']);
    // More than can be sorted in another order than that of their index.
    await query(
      `insert into instep.subscriptions
              (customer_id, subscription_id, is_order_ambiguous, latest_status, latest_since)
       select 'cus_many_' || number, '', false, 'past_due', to_timestamp(0)
         from generate_series(1, 10001) as number`,
    );
    const { text, html } = await pages.get('/teams?due=1&sort=-due');
    expect(text).toContain('Sorted by the time of the due payment.');
    expect(html).toContain('aria-sort="descending"');
    expect(await namesOn('/teams?due=1&sort=-due')).toEqual(['Bravo', 'Charlie', 'Delta']);
    expect(await namesOn('/teams?due=1&sort=name')).toEqual(['Delta', 'Charlie', 'Bravo']);
  } finally {
    await query(`delete from instep.subscriptions where customer_id like 'cus_many_%'`);
    await countTeamsNow(query);
  }
});

test('a team without a plan shows which one it lost', async () => {
  const { text } = await pages.get('/teams?status=canceled');
  expect(text).toMatch(/Echo 5 canceled was Basic cus_echo/);
  const team = await pages.get('/teams/5');
  expect(team.text).toMatch(
    /was canceled\. The customer has had no plan since .* ; before that, it had Basic/,
  );
});

describe('sorted', () => {
  test.each([
    ['', ['Delta', 'Alpha', 'Charlie', 'Bravo', 'Echo', 'Foxtrot']],
    ['-id', ['Foxtrot', 'Echo', 'Bravo', 'Charlie', 'Alpha', 'Delta']],
    ['name', ['Alpha', 'Bravo', 'Charlie', 'Delta', 'Echo', 'Foxtrot']],
    ['-name', ['Foxtrot', 'Echo', 'Delta', 'Charlie', 'Bravo', 'Alpha']],
    ['plan', ['Foxtrot', 'Charlie', 'Echo', 'Delta', 'Alpha', 'Bravo']],
    ['-status', ['Bravo', 'Charlie', 'Delta', 'Echo', 'Alpha', 'Foxtrot']],
    ['customer', ['Foxtrot', 'Alpha', 'Bravo', 'Charlie', 'Delta', 'Echo']],
    ['nonsense', ['Delta', 'Alpha', 'Charlie', 'Bravo', 'Echo', 'Foxtrot']],
  ])('by %j', async (sort, names) => {
    expect(await namesOn(`/teams?sort=${sort}`)).toEqual(names);
  });

  test('a click on a column sorts by it, and another click reverses the order', async () => {
    const byName = await follow('/teams', /^Team$/);
    expect(byName).toBe('/teams?sort=name');
    const { html } = await pages.get(byName);
    expect(html).toMatch(/<th scope="col" aria-sort="ascending"><a class="sort"/);
    expect(await follow(byName, /^Team ↑$/)).toBe('/teams?sort=-name');
  });

  test.each(['id', '-id', 'name', '-name', 'plan', '-plan', 'status'])(
    'every team is on exactly one page in both directions, by %s',
    async (sort) => {
      await query(
        `insert into teams (name) select 'Many ' || number % 7 from generate_series(1, 130) as number
          where not exists (select from teams where name like 'Many%')`,
      );
      const first = `/teams?sort=${sort}`;
      const onwards: string[][] = [];
      let last = first;
      for (let next = first; next !== ''; next = await follow(next, /^Next$/)) {
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
    },
  );
});

test('more teams than can be sorted in time are listed by id', async () => {
  await query(
    `update instep.leased_jobs
        set progress = jsonb_set(progress, '{groups}',
              '[{"status":"active","plan":"Pro","product":null,"issues":[],"teams":10001}]')
      where name = 'team-counts'`,
  );
  const { html, text } = await pages.get('/teams?sort=name');
  expect(text).toContain('Sorted by id.');
  expect(html.match(/href="[^"]*sort=[^"]*"/g)).toEqual(['href="/teams?sort=-id"']);
  expect((await namesOn('/teams?sort=name')).slice(0, 3)).toEqual(['Delta', 'Alpha', 'Charlie']);
  expect((await namesOn('/teams?sort=-id'))[0]).toBe('Many');
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
    await countTeamsNow(query);
    for (const path of ['/', '/teams', '/attention', '/search?q=', '/events', '/reconcile']) {
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
