import { afterEach, expect, test, vi } from 'vitest';
import { createNameLookup } from '../../src/stripe/product-names.ts';

afterEach(() => void vi.useRealTimers());

const HOUR_MS = 3_600_000;

test('a missing product name is looked up again after 30 seconds, even if the clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const names = [null, 'Gold'];
  const nameOf = createNameLookup({
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
