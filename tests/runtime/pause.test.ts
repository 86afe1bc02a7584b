import { throttle } from 'instep-engine/runtime';
import { expect, test } from 'vitest';

const { signal } = new AbortController();

test('a step that may take a tenth of the time is followed by a pause of nine times its length', async () => {
  const endedMs = performance.now();
  await throttle({ startedAtMs: endedMs - 10, share: 0.1 }, signal);
  // A timer can end a millisecond early.
  expect(performance.now() - endedMs).toBeGreaterThanOrEqual(89);
});
