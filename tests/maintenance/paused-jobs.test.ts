import { pauseWithoutPermission } from 'instep/src/maintenance/worker.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { StripeApiFailed } from 'instep/src/stripe/api-failure.ts';
import { expect, test } from 'vitest';

const PAUSE_MS = 60_000;

test('a key that loses its permission a second time is reported again', async () => {
  let [nowMs, calls, isForbidden] = [0, 0, true];
  const lines: unknown[] = [];
  const job = pauseWithoutPermission(
    async () => {
      calls += 1;
      if (isForbidden) throw new StripeApiFailed('answered 403', { status: 403 });
    },
    {
      job: 'job',
      logger: createLogger('info', { write: (line) => lines.push(JSON.parse(line)) }),
      pauseMs: PAUSE_MS,
      clockMs: () => nowMs,
    },
  );
  const run = () => job(new AbortController().signal);

  await run();
  await run();
  expect([calls, lines.length]).toEqual([1, 1]);
  nowMs += PAUSE_MS;
  isForbidden = false;
  await run();
  isForbidden = true;
  await run();
  await run();
  expect([calls, lines.length]).toEqual([3, 2]);
});
