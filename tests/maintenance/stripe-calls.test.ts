import type { Json } from 'instep-engine/rule';
import { DeadlineExceeded } from 'instep-engine/runtime';
import { expect, test } from 'vitest';
import { limitRate, readPages } from '../support/internals/repair.ts';
import { StripeApiFailed, type StripePage } from '../support/internals/stripe.ts';

const pageOf = (...objects: Json[]): StripePage => ({
  objects,
  hasMore: false,
  answeredSeconds: null,
  tookMs: 0,
});

const failed = (status: number | null) =>
  new StripeApiFailed('failed', { status, retryAfterMs: 0 });

async function readAll(list: () => Promise<StripePage>, signal = new AbortController().signal) {
  const pages: StripePage[] = [];
  for await (const page of readPages({ list, signal })) pages.push(page);
  return pages;
}

/** Reads a list of one page whose calls fail with these errors, one after the other. */
async function read(errors: readonly Error[]) {
  let calls = 0;
  async function list(): Promise<StripePage> {
    const error = errors[calls];
    calls += 1;
    if (error !== undefined) throw error;
    return pageOf({ id: 'evt_1' });
  }
  const outcome = await readAll(list).catch((error: unknown) => error);
  return { calls, outcome };
}

test.each([
  ['429', failed(429)],
  ['503', failed(503)],
  ['nothing', failed(null)],
  ['too late', new DeadlineExceeded(15_000)],
])('calls again when Stripe answers %s', async (_, error) => {
  expect(await read([error])).toMatchObject({ calls: 2, outcome: [pageOf({ id: 'evt_1' })] });
});

test.each([400, 401, 403, 404])('does not call again after status %i', async (status) => {
  const error = failed(status);
  expect(await read([error])).toEqual({ calls: 1, outcome: error });
});

test('throws when a page has no cursor for the next one', async () => {
  const list = async () => ({ ...pageOf({ object: 'event' }), hasMore: true });
  await expect(readAll(list)).rejects.toThrow('returned a page whose last object has no id');
});

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
