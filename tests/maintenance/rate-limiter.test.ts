import { expect, test } from 'vitest';
import { limitRate } from '../support/internals/repair.ts';

test('makes at most ten background calls in any second', async () => {
  const api = limitRate({ retrieveProductName: async (_id: string) => 'Gold' });
  const timesMs: number[] = [];
  const calls = Array.from({ length: 11 }, async () => {
    await api.retrieveProductName('prod_1');
    timesMs.push(performance.now());
  });
  await Promise.all(calls);
  expect((timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0)).toBeGreaterThan(1_000);
});

test('a waiting call ends when its signal is aborted', async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const { retrieveProductName } = limitRate({
    async retrieveProductName(_: string, signal?: AbortSignal) {
      signals.push(signal);
      return 'Gold';
    },
  });
  const stopping = new AbortController();
  const calls = Array.from({ length: 100 }, () => retrieveProductName('prod_1', stopping.signal));
  stopping.abort();
  await Promise.all(calls);
  expect(signals.map((signal) => signal?.aborted)).toContain(true);
});
