import { type RetryPolicy, retry, Stopped } from 'instep-engine/runtime';
import { describe, expect, test } from 'vitest';

const POLICY: RetryPolicy = { isRetryable: () => true, firstPauseMs: 0, longestPauseMs: 60_000 };

/** Retries a call that fails with these errors, one after the other, and then succeeds. */
async function failing(errors: readonly Error[], policy: Partial<RetryPolicy> = {}) {
  let calls = 0;
  const call = async () => {
    const error = errors[calls];
    calls += 1;
    if (error !== undefined) throw error;
    return 'done';
  };
  const outcome = await retry(call, { ...POLICY, ...policy }).catch((error: unknown) => error);
  return { calls, outcome };
}

const errors = Array.from({ length: 6 }, (_, index) => new Error(`failure ${index}`));

test('calls again until a call succeeds', async () => {
  expect(await failing(errors)).toEqual({ calls: 7, outcome: 'done' });
});

test('calls no more often than the policy allows, and throws the last error', async () => {
  expect(await failing(errors, { maxCalls: 4 })).toEqual({ calls: 4, outcome: errors[3] });
});

test('throws an error that is not retryable at once', async () => {
  const isRetryable = (error: unknown) => error !== errors[1];
  expect(await failing(errors, { isRetryable })).toEqual({ calls: 2, outcome: errors[1] });
});

test('doubles its pauses up to the longest, unless the failure requests another pause', async () => {
  const pauses: number[] = [];
  await failing(errors, {
    firstPauseMs: 1,
    longestPauseMs: 5,
    retryAfterMs: (error) => (error === errors[1] ? 0 : error === errors[2] ? 3_600_000 : null),
    onRetry: (_, pauseMs) => void pauses.push(pauseMs),
  });
  expect(pauses).toEqual([1, 0, 5, 5, 5, 5]);
});

describe('throws Stopped when the signal is aborted', () => {
  test('before the first call', async () => {
    const { calls, outcome } = await failing([], { signal: AbortSignal.abort() });
    expect(outcome).toBeInstanceOf(Stopped);
    expect(calls).toBe(0);
  });

  test('during a pause, which ends', async () => {
    const stopping = new AbortController();
    const ended = failing(errors, { firstPauseMs: 60_000, signal: stopping.signal });
    setImmediate(() => stopping.abort());
    expect(await ended).toEqual({ calls: 1, outcome: expect.any(Stopped) });
  });

  test('during a call that fails because of it', async () => {
    const stopping = new AbortController();
    const call = async () => {
      stopping.abort();
      throw new Error('aborted');
    };
    const { signal } = stopping;
    await expect(retry(call, { ...POLICY, signal })).rejects.toBeInstanceOf(Stopped);
  });
});
