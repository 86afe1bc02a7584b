import { createLogger } from 'instep';
import { beforeEach, expect, test, vi } from 'vitest';
import { endPauses, startMaintenance, withLease } from '../support/internals/repair.ts';
import { StripeApiFailed } from '../support/internals/stripe.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

const store = useDatabase(embeddedServer);
const query = (text: string) => store.database.query<Record<string, unknown>>(text);

beforeEach(async () => {
  await query(`update instep.leased_jobs
                  set failure_code = null, failing_since = null, failed_at = null, attempt_at = null,
                      started_at = null, ended_at = null`);
});

let runs = 0;
async function runJob(error: Error | null, holder = 'one', dueAfterMs: number | null = 0) {
  await withLease(store.database.query, { name: 'catch-up', holder, dueAfterMs }, async () => {
    runs += 1;
    if (error !== null) throw error;
  }).catch((thrown: unknown) => expect(thrown).toBe(error));
}

/** How long the job pauses, in seconds, and why. */
const pauses = () =>
  query(`select failure_code as code, round(extract(epoch from attempt_at - failed_at)) as seconds
           from instep.leased_jobs
          where failure_code is not null`);

test('a job that fails pauses for as long as it has been failing, in all instances, up to a minute', async () => {
  runs = 0;
  const failed = new Error('too many teams');
  for (const [failing, seconds] of [
    ['0', 2],
    ['20 seconds', 20],
    ['1 hour', 60],
  ]) {
    await query(`update instep.leased_jobs
                    set attempt_at = now(), failing_since = now() - interval '${failing}'
                  where failing_since is not null`);
    await runJob(failed);
    await runJob(failed, 'other');
    expect(await pauses()).toEqual([{ code: 'other', seconds: String(seconds) }]);
  }
  expect(runs).toBe(3);
  await query(`update instep.leased_jobs set attempt_at = now()`);
  await runJob(null);
  expect(await pauses()).toEqual([]);
});

test('a job whose key lacks a permission pauses for an hour, unless a process starts or a person asks', async () => {
  runs = 0;
  const forbidden = new StripeApiFailed('answered 403', { status: 403 });
  await runJob(forbidden);
  await runJob(null);
  expect(runs).toBe(1);
  expect(await pauses()).toEqual([{ code: 'STRIPE_API_FAILED', seconds: '3600' }]);
  await endPauses(store.database.query);
  await runJob(forbidden);
  await runJob(null, 'person', null);
  expect(runs).toBe(3);
  expect(await pauses()).toEqual([]);
});

test('jobs that could not be loaded are loaded again', async () => {
  const lines: { level: string; msg: string }[] = [];
  const run = vi.fn(async () => undefined);
  const loadJobs = vi
    .fn(async () => [{ name: 'job', intervalMs: 60_000, run }])
    .mockRejectedValueOnce(new Error('EMFILE: too many open files'));
  const logger = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) });
  const worker = startMaintenance(loadJobs, { logger, startAfterMs: 1 });
  await vi.waitFor(() => expect(run).toHaveBeenCalledOnce());
  await worker.stop();
  expect(lines).toMatchObject([{ level: 'error', msg: 'maintenance could not be loaded' }]);
});

test('a job whose failure can not be stored is tried less and less often', async () => {
  const startedAtMs: number[] = [];
  const run = vi.fn(async () => {
    startedAtMs.push(performance.now());
    throw new Error('permission denied for table leased_jobs');
  });
  const loadJobs = async () => [{ name: 'job', intervalMs: 20, run }];
  const worker = startMaintenance(loadJobs, { logger: createLogger('silent') });
  await vi.waitFor(() => expect(run.mock.calls.length).toBeGreaterThan(3));
  await worker.stop();
  // 40, 80 and 160 ms, and not three times 20.
  const [first = 0, last = 0] = [startedAtMs[0], startedAtMs[3]];
  expect(last - first).toBeGreaterThan(200);
});
