import {
  type EventFilter,
  type EventRow,
  findEvents,
  type Page,
  type PageStart,
} from 'instep/operate';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

const LIMIT = 50;

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const run = (statement: string, values?: readonly unknown[]) =>
    store.database.query(statement, values);

  beforeEach(() => run('truncate instep.events restart identity'));

  /**
   * Logs this many events, of which every second one is parked, and every fifth one is of `sub_1`.
   */
  async function logEvents(count: number): Promise<void> {
    await run(
      `insert into instep.events (key, type, subscription_id, customer_id, received_at, deliveries, outcome, body)
       select gen_random_uuid(),
              'other', case number % 5 when 0 then 'sub_1' end,
              'cus_' || number % 7, to_timestamp(number), 1,
              case number % 2 when 0 then 'parked' else 'applied' end, ''
         from generate_series(1, $1) as number`,
      [count],
    );
  }

  /** The positions on all pages, one after the other. */
  async function searchAll(filter: EventFilter): Promise<number[]> {
    const found: number[] = [];
    for (let start: PageStart<number> | null = null; ; ) {
      const { rows, next } = await findEvents(store, filter).page({ start, limit: LIMIT });
      expect(rows.length).toBeLessThanOrEqual(LIMIT);
      found.push(...rows.map(({ position }) => position));
      if (next === null) return found;
      start = { side: 'after', key: next };
    }
  }

  /** The positions of parked events that match the condition, the newest first. */
  const downFrom = (newest: number, isAsked: (position: number) => boolean) =>
    Array.from({ length: newest }, (_, index) => newest - index).filter(
      (position) => position % 2 === 0 && isAsked(position),
    );

  test.each([1_000, 20_100])('finds all parked events among %i, page by page', async (count) => {
    await logEvents(count);
    const parked = { outcome: 'parked' } as const;
    const ofOne = { ...parked, subscriptionId: 'sub_1' };
    expect(await searchAll({ ...ofOne, sinceMs: 500_000 })).toEqual(
      downFrom(count, (position) => position % 5 === 0 && position >= 500),
    );
    expect(await searchAll({ ...ofOne, customerId: 'cus_3' })).toEqual(
      downFrom(count, (position) => position % 5 === 0 && position % 7 === 3),
    );
    expect(await searchAll({ ...parked, sinceMs: (count - 200) * 1_000 })).toEqual(
      downFrom(count, (position) => position >= count - 200),
    );
    expect(await searchAll({ ...parked, subscriptionId: 'sub_2' })).toEqual([]);
  });

  test('a search stops when time runs out', async () => {
    await logEvents(20_100);
    const unreadable = findEvents(store, { outcome: 'unreadable' });
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1_000));
    onTestFinished(() => clock.mockRestore());
    const reached: (number | null)[] = [];
    let start: PageStart<number> | null = null;
    do {
      const page: Page<EventRow, number> = await unreadable.page({ start });
      expect(page.rows).toEqual([]);
      reached.push(page.searchedTo);
      start = page.next === null ? null : { side: 'after', key: page.next };
    } while (start !== null);
    expect(reached).toEqual([15_101, 10_101, 5_101, 101, null]);
  });

  test('leaves out an event that was decided between two pages', async () => {
    await logEvents(200);
    await run(`update instep.events set outcome = 'applied' where position > 20`);
    expect(await searchAll({ outcome: 'parked' })).toEqual(downFrom(20, () => true));
  });
});
