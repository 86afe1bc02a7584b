import { createLogger } from 'instep';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ReadinessEndpoint } from '../support/internals/server.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server whose database can be unreachable. */
function serve() {
  const state = { isShuttingDown: false, isAway: false, checks: 0 };
  const endpoint = new ReadinessEndpoint({
    isShuttingDown: () => state.isShuttingDown,
    async checkDatabase() {
      state.checks += 1;
      if (state.isAway) throw new Error('away');
    },
    logger: createLogger('silent'),
  });
  return { state, ask: () => endpoint.handle() };
}

test('checks the database once a second, regardless of the number of requests', async () => {
  const { state, ask } = serve();
  for (let count = 0; count < 100; count += 1) expect(await ask()).toMatchObject({ status: 200 });
  expect(state.checks).toBe(1);
  vi.advanceTimersByTime(1_000);
  await Promise.all(Array.from({ length: 100 }, ask));
  expect(state.checks).toBe(2);
});
