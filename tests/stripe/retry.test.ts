import { describe, expect, test } from 'vitest';
import { DeadlineExceeded } from '../../src/runtime/deadline.ts';
import { StripeApiFailed } from '../../src/stripe/api-call.ts';
import { Stopped, withRetries } from '../../src/stripe/retry.ts';

const failed = (status: number | null, retryAfterMs: number | null = 0) =>
  new StripeApiFailed('failed', { status, retryAfterMs });

/** Calls what fails with these errors, one after the other, and then succeeds. */
async function call(errors: readonly Error[], signal = new AbortController().signal) {
  let calls = 0;
  const outcome = await withRetries(async () => {
    const error = errors[calls];
    calls += 1;
    if (error !== undefined) throw error;
    return 'done';
  }, signal).catch((error: unknown) => error);
  return { calls, outcome };
}

test.each([
  ['has enough', failed(429)],
  ['is down', failed(503)],
  ['does not answer', failed(null)],
  ['takes too long', new DeadlineExceeded('late')],
])('an API that %s is asked again', async (_, error) => {
  expect(await call([error])).toEqual({ calls: 2, outcome: 'done' });
});

test('but not for ever', async () => {
  const errors = [429, 500, 503, 504, 500].map((status) => failed(status));
  expect(await call(errors)).toEqual({ calls: 4, outcome: errors[3] });
});

test.each([400, 401, 403, 404])('what is answered %i is not asked again', async (status) => {
  const error = failed(status);
  expect(await call([error])).toEqual({ calls: 1, outcome: error });
});

test('an error of ours is none of the API’s', async () => {
  const error = new TypeError('a defect');
  expect(await call([error])).toEqual({ calls: 1, outcome: error });
});

describe('whoever asks to stop waits for nothing', () => {
  test('while a call is under way', async () => {
    const stopping = new AbortController();
    const never = withRetries(() => new Promise(() => undefined), stopping.signal);
    stopping.abort();
    await expect(never).rejects.toThrow(Stopped);
  });

  test('between two calls', async () => {
    const stopping = new AbortController();
    const ended = call([failed(429, 20_000)], stopping.signal);
    setImmediate(() => stopping.abort());
    expect(await ended).toEqual({ calls: 1, outcome: expect.any(Stopped) });
  });

  test('before the first one', async () => {
    const { outcome } = await call([], AbortSignal.abort());
    expect(outcome).toBeInstanceOf(Stopped);
  });
});
