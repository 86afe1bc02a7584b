import { limitLines } from 'instep-engine/src/runtime/logging.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

type Line = { readonly number?: number; readonly suppressed?: number };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function limited() {
  const written: Line[] = [];
  const write = limitLines((line) => written.push(line));
  let number = 0;
  function cause(count: number): void {
    for (let one = 0; one < count; one += 1) {
      number += 1;
      write({ number });
    }
  }
  return { written, cause };
}

const numbers = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ number: from + index }));

test('writes one line a second during a flood, and counts every line', () => {
  const { written, cause } = limited();
  for (let moment = 0; moment < 6_000; moment += 1) {
    cause(7);
    vi.advanceTimersByTime(10);
  }
  vi.advanceTimersByTime(1_000);
  expect(written.length).toBeLessThanOrEqual(10 + 61);
  const counted = written.reduce((sum, { suppressed = 1 }) => sum + suppressed, 0);
  expect(counted).toBe(6_000 * 7);
});

test('writes the first 10 lines again after a second without a flood', () => {
  const { written, cause } = limited();
  cause(11);
  vi.advanceTimersByTime(2_000);
  cause(100);
  expect(written).toEqual([...numbers(1, 10), { number: 11, suppressed: 1 }, ...numbers(12, 10)]);
});
