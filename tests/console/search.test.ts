import { findTeams, type TeamFilter } from 'instep/operate';
import type { Query } from 'instep-engine/postgres';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam, readCustomerIdsOf } from '../support/internals/rows.ts';
import { connect, createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { indexesUsed, rowsRead } from '../support/stripe/plans.ts';

const { database } = await createDatabase();
const { query } = database;
const pages = await openConsole(database);
const ingest = openPipeline(database);

const acme = await addTeam(query, { name: 'Acme Rockets', customerId: 'cus_acme' });
await addTeam(query, { name: 'Acme Anvils', customerId: 'cus_anvils' });
await addTeam(query, { name: `Number ${acme}`, customerId: null });
await ingest([
  receivedEvent({ eventId: 'evt_acme', customerId: 'cus_acme', subscriptionId: 'sub_acme' }),
]);
const parked = { customerId: 'cus_teamless', subscriptionId: 'sub_teamless' };
await ingest([receivedEvent({ eventId: 'evt_parked', ...parked })]);
for (const createdSeconds of [1_000, 2_000]) {
  await ingest([receivedEvent({ eventId: 'evt_twice', customerId: 'cus_acme', createdSeconds })]);
}

/** Every statement of a search takes as long as all of them may take. */
function hurry() {
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 100));
  onTestFinished(() => clock.mockRestore());
}

async function search(text: string) {
  const path = `/search?q=${encodeURIComponent(text)}`;
  const response = await pages.fetch(path, { redirect: 'manual' });
  return { status: response.status, location: response.headers.get('location') };
}

const teamsOn = async (path: string) => {
  const { html } = await pages.get(path);
  return [...new Set([...html.matchAll(/href="\/teams\/(\d+)"/g)].map(([, id]) => Number(id)))];
};

test.each([
  ['a customer', 'cus_acme'],
  ['a subscription', 'sub_acme'],
  ['a team id', String(acme)],
  ['a whole name in any case', ' acme ROCKETS '],
  ['a part of only one name', 'rock'],
  ['the beginning of a subscription', 'sub_acm'],
  ['a team id with a #', `#${acme}`],
  ['an address of the dashboard', 'https://dashboard.stripe.com/test/customers/cus_acme'],
  ['another', 'https://dashboard.stripe.com/acct_1/test/subscriptions/sub_acme?tab=details'],
])('%s opens its team at once', async (_, text) => {
  expect(await search(text)).toEqual({ status: 303, location: `/teams/${acme}` });
});

test('a team is found by its id, and not others with this name', async () => {
  expect(await teamsOn(`/teams?search=${acme}`)).toEqual([acme]);
});

test('a subscription is found by an index, however many customers there are', async () => {
  await query(`
    insert into instep.customers (customer_id, version, subscriptions, subscription_ids, access_rules, grants_plan, had_team)
    select 'cus_other' || i, version, subscriptions, array['sub_other' || i], access_rules, grants_plan, had_team
      from instep.customers, generate_series(1, 20000) as i
     where customer_id = 'cus_acme'`);
  await query('analyze instep.customers');
  const used = await indexesUsed(database, (query) => readCustomerIdsOf(query, 'sub_acme', 1));
  expect([...used]).toEqual(['customers_by_subscription']);
});

test('the id of an event opens the only one, or lists all', async () => {
  expect((await search('evt_parked')).location).toBe('/events/2');
  expect((await search('evt_twice')).location).toBe('/events?search=evt_twice');
  const { html } = await pages.get('/events?search=evt_twice');
  expect(html.match(/aria-label="evt_twice"/g)).toHaveLength(2);
});

test('the id of a customer without a team shows its events', async () => {
  const { text } = await pages.get('/search?q=cus_teamless');
  expect(text).toMatch(/No team is linked to customer cus_teamless .*evt_parked/);
});

test('the beginning of a UUID finds its team', async () => {
  const own = await createDatabase();
  await own.database.query(`
    drop table teams cascade;
    create table teams (
      id uuid primary key, name text, stripe_customer_id text, stripe_subscription_id text,
      stripe_product_id text, plan_name text, subscription_status text
    );
    insert into teams (id, name) values ('9d3c6f5e-0b6f-4a1b-8a39-6a3f3a5f2f10', 'Ada'),
      ('9d3c0000-0b6f-4a1b-8a39-6a3f3a5f2f10', 'Bob')`);
  const uuids = await openConsole(connect(own.url));
  expect((await uuids.get('/search?q=9D3C6')).url).toContain('/teams/9d3c6f5e');
  expect((await uuids.get('/search?q=9d3c')).text).toMatch(/Bob .*Ada /);
  expect((await uuids.get('/search?q=9d3')).text).toContain('No team found');
});

test('an email address finds the teams of a person, where a table says whose they are', async () => {
  const unknown = await pages.get('/search?q=ada@example.com');
  expect(unknown.text).toContain('People are found by their address if');
  const people = await createDatabase();
  await people.database.query(`
    create table team_members (id serial, user_id integer, team_id integer, role text);
    insert into users (id, name, email, password_hash, deleted_at)
    values (1, 'Ada', 'ada@example.com', '', null), (2, 'Bob', 'bob@example.com', '', now());
    insert into teams (id, name, plan_name) values (7, 'Engines', 'Pro'), (8, 'Looms', null);
    insert into team_members (user_id, team_id) values (1, 7), (2, 8)`);
  const own = await openConsole(connect(people.url));
  expect((await own.get('/search?q=ADA@Example.com')).url).toBe('/teams/7');
  await openPipeline(connect(people.url))([receivedEvent({ customerId: 'cus_engines' })]);
  const linked = await own.post('/actions', {
    ...{ one: 'link customer:cus_engines', back: '/attention' },
    'link customer:cus_engines': 'ada@example.com',
  });
  expect(linked.results).toEqual(['linked']);
  expect((await own.get('/events?search=ada@example.com')).text).toContain('cus_engines');
  for (const address of ['bob@example.com', 'ada@example', 'nobody@example.com']) {
    expect((await own.get(`/search?q=${address}`)).text).toContain('No team found');
  }
});

test('a subscription whose events had no effect opens its team', async () => {
  const event = { customerId: 'cus_acme', subscriptionId: 'sub_incomplete', status: 'incomplete' };
  await ingest([receivedEvent({ eventId: 'evt_incomplete', ...event })]);
  const { url, text } = await pages.get('/search?q=sub_incomplete');
  expect(url).toBe(`/teams/${acme}`);
  expect(text).toContain('evt_incomplete');
});

test.each(['nobody', '%', '\0', '\u202e<script>alert(1)</script>'])(
  'a search without results says what to enter: %j',
  async (text) => {
    const { html, text: shown } = await pages.get(`/search?q=x${encodeURIComponent(text)}`);
    expect(shown).toMatch(/No team found .* dashboard/);
    expect(html).not.toContain('<script>alert');
  },
);

test('an empty search shows all teams', async () => {
  expect((await search('')).location).toBe('/teams');
});

/** The page that a page without results continues with by itself. */
async function continued(path: string | null) {
  const { html } = await pages.get(path ?? '');
  const [, next = ''] = /hx-get="([^"]*)" hx-trigger="load/.exec(html) ?? [];
  return await pages.get(next.replaceAll('&amp;', '&'));
}

test('an event far back in the log is found by continued searching', async () => {
  await query(
    `insert into instep.events (key, event_id, type, received_at, deliveries, outcome, body)
     select gen_random_uuid(), 'evt_recent_' || number, 'customer.subscription.updated', now(), 1,
            'unreadable', ''
       from generate_series(1, 6000) as number`,
  );
  hurry();
  const { location } = await search('evt_parked');
  expect(location).toBe('/events?search=evt_parked');
  expect((await continued(location)).text).toContain('evt_parked');
});

test.each<[string, TeamFilter, number]>([
  ['all teams', {}, 6_000],
  ['teams by a part of a name', { text: 'nobody' }, 6_000],
  ['teams by a status', { status: 'active' }, 6_000],
  ['the team with an id', { text: `#${acme}` }, 10],
  ['the team of a customer', { text: 'cus_acme' }, 10],
  ['the team of a subscription', { text: 'sub_acme' }, 10],
])('a page of %s reads a limited number of rows', async (_, filter, most) => {
  await query("insert into teams (name) select 'Crowd' from generate_series(1, 20000)");
  await query('vacuum analyze teams');
  const work = async (explaining: Query) => {
    for await (const _ of findTeams({ database: { query: explaining } }, filter).all()) break;
  };
  expect(await rowsRead(database, 'teams', work)).toBeLessThan(most);
  await query("delete from teams where name = 'Crowd'");
});

test('a search of teams stops in time, says how far it got, and continues on the next page', async () => {
  await query("insert into teams (name) select 'Crowd' from generate_series(1, 20000)");
  // At both ends of each range that one statement searches.
  const seams = await query<{ id: number }>(
    `update teams
        set name = 'Seam'
       from (select id, row_number() over (order by id) as number from teams) as numbered
      where numbered.id = teams.id
        and number % 5000 in (0, 1)
        and number > 1
     returning teams.id`,
  );
  hurry();
  const { location } = await search('crowd nobody');
  expect(location).toBe('/teams?search=crowd+nobody');
  expect((await continued(location)).status).toBe(200);
  const found: number[] = [];
  for (let next: string | null = '/teams?search=seam'; next !== null; ) {
    const page = await pages.get(next);
    // A page with results waits for a click.
    if (found.length === 0) expect(page.html).not.toContain('hx-trigger="load');
    if (found.length === 0) expect(page.text).toMatch(/Searched all teams up to id \d+\./);
    found.push(...(await teamsOn(next)));
    next = page.hrefOf('Next');
  }
  expect(found).toEqual(seams.map(({ id }) => id).toSorted((one, other) => one - other));
});
