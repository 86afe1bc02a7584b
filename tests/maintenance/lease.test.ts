import { createLogger } from 'instep';
import { Stopped } from 'instep-engine/runtime';
import type { DuePage } from 'instep-engine/src/postgres/examine.ts';
import { createRepairJob } from 'instep-engine/src/repair/repair-job.ts';
import { afterEach, expect, test, vi } from 'vitest';
import { withLease } from '../support/internals/repair.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

const store = useDatabase(embeddedServer);
const run = (text: string) => store.database.query<{ isHeld: boolean }>(text);

afterEach(() => void vi.useRealTimers());

const lease = (holder: string) => ({ name: 'reconcile', holder, dueAfterMs: 0 });
const runOther = () => withLease(store.database.query, lease('other'), async () => 'done');

test('a lease is renewed while a single step of the job takes longer than it lasts', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  await withLease(store.database.query, lease('one'), async () => {
    await run(`update instep.leased_jobs set held_until = now() where name = 'reconcile'`);
    vi.advanceTimersByTime(60_000);
    const held = `
      select held_until > now() + interval '1 minute' as "isHeld"
        from instep.leased_jobs
       where name = 'reconcile'`;
    await vi.waitFor(async () => expect(await run(held)).toEqual([{ isHeld: true }]));
    expect(await runOther()).toBeNull();
  });
  expect(vi.getTimerCount()).toBe(0);
  expect(await runOther()).toBe('done');
});

test('a run whose lease another instance has taken over stops', async () => {
  const stopped = withLease(store.database.query, lease('one'), async (job) => {
    await run(`update instep.leased_jobs set holder = 'other' where name = 'reconcile'`);
    await job.saveProgress({});
  });
  await expect(stopped).rejects.toThrow(Stopped);
  await run(`update instep.leased_jobs set holder = null, held_until = null`);
});

const complete = async () => 'done';
const catchUpAs = (holder: string, work: () => Promise<string> = complete) =>
  withLease(store.database.query, { name: 'catch-up', holder, dueAfterMs: 60_000 }, work);

test('one of several instances runs a job, once while it is not due, and at once if it was stopped', async () => {
  await expect(catchUpAs('one', () => Promise.reject(new Stopped()))).rejects.toThrow(Stopped);
  const results = await Promise.all(['one', 'two', 'three'].map((holder) => catchUpAs(holder)));
  expect(results.filter((result) => result === 'done')).toHaveLength(1);
  expect(await catchUpAs('two')).toBeNull();
});

/** Makes everything about the jobs appear to have happened while the server's clock was an hour ahead. */
const setBackServerClock = () =>
  run(
    `update instep.leased_jobs
        set started_at = started_at + interval '1 hour',
            ended_at   = ended_at + interval '1 hour',
            held_until = held_until + interval '1 hour'`,
  );

test('a lease is taken again, even if the clock of the database server is set back', async () => {
  const runAs = (holder: string, work: () => Promise<string | null>) =>
    withLease(store.database.query, { name: 'retention', holder, dueAfterMs: 4_000 }, work);
  const runOther = () => runAs('other', async () => 'done');
  expect(
    await runAs('one', async () => {
      expect(await runOther()).toBeNull();
      await setBackServerClock();
      return await runOther();
    }),
  ).toBe('done');
  await run(`update instep.leased_jobs set started_at = now(), ended_at = now()`);
  expect(await runOther()).toBeNull();
  await setBackServerClock();
  expect(await runOther()).toBe('done');
});

/** Searches three pages; each reading of the clock is this much later. Returns what a run repairs. */
function openSearch(stepMs: number) {
  let nowMs = 0;
  let repaired: string[] = [];
  const search = {
    ...{ name: 'empty-teams', limit: 10, longestRestMs: 0 },
    async find({ afterId }: DuePage) {
      const page = Number(afterId) + 1;
      return { found: [String(page)], examinedTo: page === 3 ? null : page };
    },
    async repair(id: string) {
      repaired.push(id);
      return true;
    },
  };
  const { query } = store.database;
  const instance = { query, logger: createLogger('silent'), holder: 'one', dueAfterMs: 0 };
  const job = createRepairJob(search, { ...instance, clockMs: () => (nowMs += stepMs) });
  return async () => {
    repaired = [];
    await job.run(new AbortController().signal);
    return repaired;
  };
}

test('a search goes through all pages, and the next one begins again', async () => {
  const run = openSearch(0);
  expect(await run()).toEqual(['1', '2', '3']);
  expect(await run()).toEqual(['1', '2', '3']);
});

test('a search that is out of time is continued by the next run', async () => {
  const run = openSearch(1_000);
  const pages = [await run(), await run(), await run(), await run()];
  expect(pages).toEqual([['1'], ['2'], ['3'], ['1']]);
});
