import { expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

const { database } = await createDatabase();
const { query } = database;
/** Whether a search runs out of time after one statement. */
let isHurried = false;
let clock = 0;
const pages = await openConsole(database, {
  clockMs: () => {
    clock += isHurried ? 100 : 0;
    return clock;
  },
});

const NOON = '2026-03-01T12:00';

// An event a second for 6 hours; every thousandth is unreadable.
await query(
  `insert into instep.events (key, event_id, type, customer_id, received_at, deliveries, outcome, body)
   select gen_random_uuid(), 'evt_' || number, 'customer.subscription.updated',
          'cus_' || number % 100, $1::timestamptz + number * interval '1 second', 1,
          case number % 1000 when 0 then 'unreadable' else 'applied' end, '{"data":{"object":{}}}'
     from generate_series(0, 21599) as number`,
  [`${NOON}Z`],
);

const idsIn = (html: string) =>
  [...html.matchAll(/<a href="\/events\/\d+" aria-label="evt_(\d+)"/g)].map(([, id]) => Number(id));

const linkIn = (html: string, text: string) =>
  new RegExp(`href="([^"]*)"[^>]*>${text}<`).exec(html)?.[1]?.replaceAll('&amp;', '&') ?? null;

/** Follows the links with this text. */
async function readAll(path: string, text: string) {
  const ids: number[][] = [];
  let last = path;
  for (let next: string | null = path; next !== null; ) {
    last = next;
    const { html } = await pages.get(next);
    ids.push(idsIn(html));
    next = linkIn(html, text);
  }
  return { ids, last };
}

const downFrom = (newest: number, oldest: number) =>
  Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index);

test('the events of 10 minutes are found by their time, wherever they are in the log', async () => {
  const between = '/events?from=2026-03-01T13:00&until=2026-03-01T13:10';
  isHurried = true;
  const { ids } = await readAll(between, 'Next');
  isHurried = false;
  expect(ids.map(({ length }) => length)).toEqual(Array(12).fill(50));
  expect(ids.flat()).toEqual(downFrom(4_199, 3_600));
  const { html } = await pages.get(between);
  expect(html).toMatch(/From \(<span class="zone">UTC<\/span>\)/);
  expect(html).toMatch(/type="datetime-local"[^>]*value="2026-03-01T13:10"/);
});

test.each([
  ['before all events', 'until=2026-01-01T00:00'],
  ['after all events', 'from=2026-04-01T00:00'],
  ['that ends before it begins', 'from=2026-03-01T14:00&until=2026-03-01T13:00'],
])('a period %s has no events', async (_, parameters) => {
  const { status, text } = await pages.get(`/events?${parameters}`);
  expect(status).toBe(200);
  expect(text).toContain('No event found');
});

test.each(['search=cus_3', 'from=2026-03-01T17:50', 'outcome=unreadable'])(
  'the pages in both directions have the same events: %s',
  async (parameters) => {
    for (const hurried of [false, true]) {
      isHurried = hurried;
      const onwards = await readAll(`/events?${parameters}`, 'Next');
      const back = await readAll(onwards.last, 'Previous');
      isHurried = false;
      expect(new Set(back.ids.flat())).toEqual(new Set(onwards.ids.flat()));
      expect(back.ids.at(-1)).toEqual(onwards.ids[0]);
    }
  },
);
