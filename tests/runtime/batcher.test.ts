import { Batcher } from 'instep-engine/runtime';
import { expect, test, vi } from 'vitest';

type Run = (items: readonly number[]) => Promise<number[]>;

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

test('items that arrive during a batch form the next one, in the order of arrival', async () => {
  const { open, opened } = gate();
  const run = vi.fn<Run>(async (items) => {
    await opened;
    return items.map((item) => item * 10);
  });
  const batcher = new Batcher({ name: 'batch', run, maxBatch: 3, maxQueued: 10 });
  const results = [1, 2, 3, 4, 5].map((item) => batcher.add(item));
  open();
  expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50]);
  expect(run.mock.calls).toEqual([[[1]], [[2, 3, 4]], [[5]]]);
});

test('a batch fails as a whole, and the next one runs', async () => {
  let fails = true;
  const run = vi.fn<Run>(async (items) => {
    if (fails) throw new Error('down');
    return [...items];
  });
  const batcher = new Batcher({
    name: 'batch',
    run,
    maxBatch: 10,
    maxQueued: 10,
  });
  const first = await Promise.allSettled([batcher.add(1), batcher.add(2), batcher.add(3)]);
  expect(first.every(({ status }) => status === 'rejected')).toBe(true);
  expect(run).toHaveBeenCalledTimes(2);
  fails = false;
  expect(await batcher.add(4)).toBe(4);
});
