import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { limitLines } from '../../src/server/line-limiter.ts';

type Line = { readonly number?: number; readonly leftOut?: number };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Causes lines when it is told to, and shows which were written. */
function limited() {
  const written: Line[] = [];
  const write = limitLines({ now: Date.now, write: (line) => written.push(line) });
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

test('the first lines are written as they are, and the others as their number', () => {
  const { written, cause } = limited();
  cause(1_000);
  expect(written).toEqual(numbers(1, 10));
  vi.advanceTimersByTime(1_000);
  expect(written.slice(10)).toEqual([{ number: 1_000, leftOut: 990 }]);
  vi.advanceTimersByTime(60_000);
  expect(written).toHaveLength(11);
});

test('a flood is a line a second, and every line is written or counted', () => {
  const { written, cause } = limited();
  for (let moment = 0; moment < 6_000; moment += 1) {
    cause(7);
    vi.advanceTimersByTime(10);
  }
  vi.advanceTimersByTime(1_000);
  expect(written.length).toBeLessThanOrEqual(10 + 61);
  const counted = written.reduce((sum, { leftOut = 1 }) => sum + leftOut, 0);
  expect(counted).toBe(6_000 * 7);
});

test('what comes now and then is written whole', () => {
  const { written, cause } = limited();
  for (let second = 0; second < 100; second += 1) {
    cause(1);
    vi.advanceTimersByTime(1_000);
  }
  expect(written).toEqual(numbers(1, 100));
});

test('after a flood the first lines are written again, as many as seconds have passed', () => {
  const { written, cause } = limited();
  cause(11);
  vi.advanceTimersByTime(5_000);
  cause(100);
  expect(written).toEqual([...numbers(1, 10), { number: 11, leftOut: 1 }, ...numbers(12, 4)]);
  vi.advanceTimersByTime(3_600_000);
  cause(100);
  expect(written.slice(16)).toEqual(numbers(112, 10));
});

test('a clock that is set back silences nothing for long', () => {
  const { written, cause } = limited();
  cause(20);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(1_000);
  expect(written.at(-1)).toEqual({ number: 20, leftOut: 10 });
  vi.advanceTimersByTime(10_000);
  cause(1);
  expect(written.at(-1)).toEqual({ number: 21 });
});
