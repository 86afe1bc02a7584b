import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const idsIn = (html: string) =>
  [...html.matchAll(/<a href="\/events\/\d+" aria-label="evt_(\w+)"/g)].map(([, id = '']) => id);

describe('the filter', async () => {
  const { database } = await createDatabase();
  const pages = await openConsole(database);

  beforeAll(async () => {
    await addTeam(database.query, { name: 'Alpha', customerId: 'cus_a' });
    await addTeam(database.query, { name: 'Alpine', customerId: null });
    const end = { type: 'customer.subscription.deleted', status: 'canceled' };
    const ingest = openPipeline(database);
    for (const event of [
      { eventId: 'evt_a1', customerId: 'cus_a', createdSeconds: 1_000 },
      { eventId: 'evt_a2', customerId: 'cus_a', createdSeconds: 2_000, ...end },
      { eventId: 'evt_b1', customerId: 'cus_b', createdSeconds: 1_000 },
    ]) {
      await ingest([{ ...receivedEvent(event), receivedAtMs: Date.now() }]);
    }
  });

  test.each([
    ['customer', 'search=cus_a', ['a2', 'a1']],
    ['event', 'search=evt_a1', ['a1']],
    ['an event of any id', 'search=event:evt_a1', ['a1']],
    ['subscription', 'search=sub_1&outcome=applied', ['a2', 'a1']],
    ["a team's name", 'search=Alpha', ['a2', 'a1']],
    ["a team's id", 'search=%231', ['a2', 'a1']],
    ['an address of the dashboard', 'search=https://dashboard.stripe.com/events/evt_b1', ['b1']],
    ['outcome', 'outcome=parked', ['b1']],
    ['several', 'search=cus_a&outcome=applied&from=2026-01-01T00:00', ['a2', 'a1']],
    ['no match', 'search=cus_a&outcome=stale', []],
    ['a position of the far future', 'before=9999999999', ['b1', 'a2', 'a1']],
  ])('by %s', async (_, parameters, expected) => {
    expect(idsIn((await pages.get(`/events?${parameters}`)).html)).toEqual(expected);
  });

  test.each([
    ['a team that does not exist', 'search=Nobody'],
    ['several teams', 'search=lp'],
    ['a time that is none', 'from=yesterday'],
  ])('names the field with %s', async (_, parameters) => {
    const { status, html } = await pages.get(`/events?${parameters}`);
    expect(status).toBe(400);
    expect(html).toContain('aria-invalid="true"');
  });
});

describe('a page of the log', async () => {
  const { database } = await createDatabase();
  const pages = await openConsole(database);

  /** With 100, a search runs out of time after one statement; with 0, it has all the time that it needs. */
  function takeMs(each: number) {
    let nowMs = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += each));
    onTestFinished(() => clock.mockRestore());
  }

  // An event a second for 6 hours; every thousandth is unreadable.
  beforeAll(async () => {
    await database.query(
      `insert into instep.events (key, event_id, type, customer_id, received_at, deliveries, outcome, body)
       select gen_random_uuid(), 'evt_' || number, 'customer.subscription.updated',
              'cus_' || number % 100, '2026-03-01T12:00Z'::timestamptz + number * interval '1 second', 1,
              case number % 1000 when 0 then 'unreadable' else 'applied' end, '{"data":{"object":{}}}'
         from generate_series(0, 21599) as number`,
    );
  });

  /** Follows the links with this text, and adds an event of the customer between two pages. */
  async function readAll(path: string, text: string, customerId: string | null = null) {
    const ids: string[][] = [];
    let last = path;
    for (let next: string | null = path; next !== null; ) {
      last = next;
      const page = await pages.get(next);
      ids.push(idsIn(page.html));
      next = page.hrefOf(text);
      if (customerId !== null) await openPipeline(database)([receivedEvent({ customerId })]);
    }
    return { ids, last };
  }

  const downFrom = (newest: number, oldest: number, step = 1) =>
    Array.from({ length: (newest - oldest) / step + 1 }, (_, index) => `${newest - step * index}`);

  test('has the events of a time, wherever they are in the log', async () => {
    const between = '/events?from=2026-03-01T13:00&until=2026-03-01T13:10';
    takeMs(100);
    const { ids } = await readAll(between, 'Next');
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
  ])('has none of a period %s', async (_, parameters) => {
    const { status, text } = await pages.get(`/events?${parameters}`);
    expect(status).toBe(200);
    expect(text).toContain('No event found');
  });

  test.each(['search=cus_3', 'from=2026-03-01T17:50', 'outcome=unreadable'])(
    'has the same events in both directions: %s',
    async (parameters) => {
      for (const each of [0, 100]) {
        takeMs(each);
        const onwards = await readAll(`/events?${parameters}`, 'Next');
        const back = await readAll(onwards.last, 'Previous');
        expect(new Set(back.ids.flat())).toEqual(new Set(onwards.ids.flat()));
        expect(back.ids.at(-1)).toEqual(onwards.ids[0]);
      }
    },
  );

  test('is of those that were there, while new ones arrive', async () => {
    const { ids } = await readAll('/events?search=cus_4', 'Next', 'cus_4');
    expect(ids.flat()).toEqual(downFrom(21_504, 4, 100));
  });
});
