import { withLease } from 'instep/src/maintenance/lease.ts';
import { Stopped } from 'instep/src/runtime/retry.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
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

test.each(['saveProgress', 'complete'] as const)(
  'a run whose lease another instance has taken over stops: %s',
  async (step) => {
    const stopped = withLease(store.database.query, lease('one'), async (job) => {
      await run(`update instep.leased_jobs set holder = 'other' where name = 'reconcile'`);
      await job[step]({});
    });
    await expect(stopped).rejects.toThrow(Stopped);
    await run(`update instep.leased_jobs set holder = null, held_until = null`);
  },
);

describe('a job with a share', () => {
  const limits = { dueAfterMs: 1_000, share: 0.01 };
  const runAs = (holder: string, work = async () => 'done') =>
    withLease(store.database.query, { name: 'empty-teams', holder, ...limits }, work);
  const moveLastRun = (interval: string) =>
    store.database.query(
      `update instep.leased_jobs
          set started_at = started_at - $1::interval, ended_at = ended_at - $1::interval
        where name = 'empty-teams'`,
      [interval],
    );

  beforeEach(() => run('update instep.leased_jobs set started_at = null, ended_at = null'));

  test('is run by one of several instances', async () => {
    const results = await Promise.all(['one', 'two', 'three'].map((holder) => runAs(holder)));
    expect(results.filter((result) => result === 'done')).toHaveLength(1);
  });

  test('pauses for 99 times as long as it took', async () => {
    expect(await runAs('one')).toBe('done');
    await run(`update instep.leased_jobs set started_at = ended_at - interval '1 second'`);
    await moveLastRun('98 seconds');
    expect(await runAs('two')).toBeNull();
    await moveLastRun('2 seconds');
    expect(await runAs('two')).toBe('done');
  });

  test('pauses as well after a run that failed', async () => {
    const failed = new Error('too many teams');
    await expect(runAs('one', () => Promise.reject(failed))).rejects.toBe(failed);
    expect(await runAs('two')).toBeNull();
    await moveLastRun('1 minute');
    expect(await runAs('two')).toBe('done');
  });
});
