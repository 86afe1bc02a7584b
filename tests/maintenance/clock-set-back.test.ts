import { createNameLookup } from 'instep-engine/src/stripe/product-names.ts';
import { afterEach, expect, test, vi } from 'vitest';
import { withLease } from '../support/internals/repair.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

const store = useDatabase(embeddedServer);

afterEach(() => void vi.useRealTimers());

const HOUR_MS = 3_600_000;

test('a missing product name is looked up again after 30 seconds, even if the clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const names = [null, 'Gold'];
  const nameOf = createNameLookup({
    readStored: async () => null,
    store: async () => undefined,
    storeNameless: async () => undefined,
    retrieve: async () => names.shift() ?? null,
    onRetrieveError: () => undefined,
  });
  expect(await nameOf('prod_1')).toBeNull();
  vi.advanceTimersByTime(31_000);
  vi.setSystemTime(Date.now() - HOUR_MS);
  expect(await nameOf('prod_1')).toBe('Gold');
});

/** Makes everything about the jobs appear to have happened while the server's clock was an hour ahead. */
const setBackServerClock = () =>
  store.database.query(
    `update instep.leased_jobs
        set started_at = started_at + interval '1 hour',
            ended_at   = ended_at + interval '1 hour',
            held_until = held_until + interval '1 hour'`,
  );

test('a lease is taken again, even if the clock of the database server is set back', async () => {
  const { query } = store.database;
  const run = (holder: string, work: () => Promise<string | null>) =>
    withLease(query, { name: 'catch-up', holder, dueAfterMs: 4_000 }, work);
  const runOther = () => run('other', async () => 'done');
  expect(
    await run('one', async () => {
      expect(await runOther()).toBeNull();
      await setBackServerClock();
      return await runOther();
    }),
  ).toBe('done');
  await query(`update instep.leased_jobs set started_at = now(), ended_at = now()`);
  expect(await runOther()).toBeNull();
  await setBackServerClock();
  expect(await runOther()).toBe('done');
});
