import { afterEach, expect, test, vi } from 'vitest';
import { limitRate } from '../../src/maintenance/rate-limiter.ts';
import type { StripeApi } from '../../src/stripe/api.ts';
import { createProductNames } from '../../src/stripe/product-names.ts';

afterEach(() => void vi.useRealTimers());

const HOUR_MS = 3_600_000;

const api: StripeApi = {
  retrieveProductName: async () => 'Gold',
  retrieveSubscription: async () => null,
  listEvents: () => Promise.reject(new Error('unused')),
  listSubscriptions: () => Promise.reject(new Error('unused')),
  listCustomers: () => Promise.reject(new Error('unused')),
};

test('background calls continue when the clock is set back by an hour', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const limited = limitRate(api);
  await limited.retrieveProductName('prod_1');
  vi.setSystemTime(Date.now() - HOUR_MS);
  expect(await limited.retrieveProductName('prod_1')).toBe('Gold');
});

test('a background call that waits for its turn ends with its signal', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const signals: (AbortSignal | undefined)[] = [];
  const limited = limitRate({
    ...api,
    async retrieveProductName(_, signal) {
      signals.push(signal);
      return 'Gold';
    },
  });
  // The clock stands still: each call waits longer than the one before.
  const stopping = new AbortController();
  const calls = Array.from({ length: 1_000 }, () =>
    limited.retrieveProductName('prod_1', stopping.signal),
  );
  stopping.abort();
  await Promise.all(calls);
  expect(signals.every((signal) => signal?.aborted)).toBe(true);
});

test('a missing product name is looked up again after 30 seconds, even if the clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const names = [null, 'Gold'];
  const { nameOf } = createProductNames({
    readStored: async () => null,
    store: async () => undefined,
    retrieve: async () => names.shift() ?? null,
    onRetrieveError: () => undefined,
  });
  expect(await nameOf('prod_1')).toBeNull();
  vi.advanceTimersByTime(31_000);
  vi.setSystemTime(Date.now() - HOUR_MS);
  expect(await nameOf('prod_1')).toBe('Gold');
});
