import type { ApplicationId } from 'instep';
import { describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam, readCustomerIdsOf } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { indexesUsed } from '../support/stripe/plans.ts';

const HOSTILE = '<script>alert("x")</script>\u202eright to left';

const { database } = await createDatabase();
let passMs = 0;
let nowMs = 0;
const clockMs = () => {
  nowMs += passMs;
  return nowMs;
};
const pages = await openConsole(database, { clockMs });

test('an empty table says where teams come from', async () => {
  const { text } = await pages.get('/teams');
  expect(text).toContain('No teams yet Your app adds them to the table teams.');
});

describe('the search', () => {
  let arranged: Promise<{ acme: ApplicationId; odd: ApplicationId }> | undefined;
  function arrange() {
    arranged ??= (async () => {
      const { query } = database;
      const acme = await addTeam(query, { name: 'Acme Rockets', customerId: 'cus_acme' });
      const odd = await addTeam(query, { name: HOSTILE, customerId: 'cus_odd' });
      await addTeam(query, { name: 'x'.repeat(10_000), customerId: null });
      const ingest = openPipeline(database);
      const end = { status: 'canceled', subscriptionId: 'sub_acme' };
      await ingest([receivedEvent({ customerId: 'cus_acme', createdSeconds: 2_000, ...end })]);
      return { acme, odd };
    })();
    return arranged;
  }
  const find = async (text: string) => {
    const { html, status } = await pages.get(`/teams?search=${encodeURIComponent(text)}`);
    expect(status).toBe(200);
    expect(html).not.toContain('<script>alert');
    return [...new Set([...html.matchAll(/href="\/teams\/(\d+)"/g)].map(([, id]) => Number(id)))];
  };

  test.each(['acme', 'ROCKETS', 'me rock', 'cus_acme', ' cus_acme ', 'sub_acme'])(
    'finds a team by %j',
    async (text) => {
      const { acme } = await arrange();
      expect(await find(text)).toEqual([acme]);
    },
  );

  test('finds a team by its id, and others with this name', async () => {
    const { acme, odd } = await arrange();
    const named = await addTeam(database.query, { name: `Number ${acme}`, customerId: null });
    expect(await find(String(acme))).toEqual([acme, named]);
    expect(await find(String(odd))).toEqual([odd]);
  });

  test('finds a subscription by an index', async () => {
    const used = await indexesUsed(database, (query) => readCustomerIdsOf(query, 'sub_acme', 50));
    expect([...used]).toEqual(['customers_by_subscription']);
  });
});

test('a slow search stops in time, says how far it got, and continues on the next page', async () => {
  const { query } = database;
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
  passMs = 100;
  try {
    const { html, text } = await pages.get('/teams?search=seam');
    // A page with results waits for a click; an empty one continues by itself.
    expect(html).not.toContain('hx-trigger="load');
    const nothing = await pages.get('/teams?search=nobody%20at%20all');
    expect(nothing.html).toMatch(/hx-get="[^"]*after=5000" hx-trigger="load/);
    expect(text).toMatch(/Searched all teams up to id \d+\. There may be more\./);
    const ids = seams.map(({ id }) => id);
    expect(await readAll('/teams?search=seam')).toEqual(ids.toSorted((one, other) => one - other));
  } finally {
    passMs = 0;
  }
});

async function readAll(path: string): Promise<number[]> {
  const ids: number[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { html } = await pages.get(next);
    ids.push(...[...html.matchAll(/href="\/teams\/(\d+)"/g)].map(([, id]) => Number(id)));
    next = /href="([^"]*)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
  }
  return ids;
}
