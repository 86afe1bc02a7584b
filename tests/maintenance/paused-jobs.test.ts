import { createLogger } from 'instep';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createOnDemandMaintenance, startMaintenance } from '../support/internals/repair.ts';
import { StripeApiFailed } from '../support/internals/stripe.ts';

const HOUR_MS = 3_600_000;

test('a job whose key lacks a permission pauses, and is reported again when it loses it again', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let [calls, isForbidden] = [0, true];
  const lines: { msg: string }[] = [];
  const pauses: number[] = [];
  const job = {
    name: 'job',
    intervalMs: 0,
    run: async () => {
      calls += 1;
      if (isForbidden) throw new StripeApiFailed('answered 403', { status: 403 });
    },
  };
  const maintenance = createOnDemandMaintenance(async () => [job], {
    logger: createLogger('info', { write: (line) => lines.push(JSON.parse(line)) }),
    failedJobs: {
      failed: async (_, __, pauseMs) => void pauses.push(pauseMs),
      succeeded: async () => undefined,
    },
  });
  const run = () => maintenance.runDue(HOUR_MS);

  await run();
  await run();
  expect([calls, lines.length]).toEqual([1, 1]);
  expect(lines[0]?.msg).toMatch(/^STRIPE_SECRET_KEY lacks permission/);
  vi.advanceTimersByTime(HOUR_MS);
  isForbidden = false;
  await run();
  isForbidden = true;
  await run();
  await run();
  expect([calls, lines.length]).toEqual([3, 2]);
  expect(pauses).toEqual([HOUR_MS, HOUR_MS]);
});

test('jobs that could not be loaded are loaded again', async () => {
  const lines: { level: string; msg: string }[] = [];
  const run = vi.fn(async () => undefined);
  const loadJobs = vi
    .fn(async () => [{ name: 'job', intervalMs: HOUR_MS, run }])
    .mockRejectedValueOnce(new Error('EMFILE: too many open files'));
  const logger = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) });
  const worker = startMaintenance(loadJobs, { logger, startAfterMs: 1 });
  await vi.waitFor(() => expect(run).toHaveBeenCalledOnce());
  await worker.stop();
  expect(lines).toMatchObject([{ level: 'error', msg: 'maintenance could not be loaded' }]);
});
