import { progressLine } from 'instep/src/cli/reconcile.ts';
import { expect, test } from 'vitest';

const unit = 'subscriptions';
const bar = (filled: number) => '█'.repeat(filled) + '░'.repeat(30 - filled);

test.each([
  [
    { unit, total: 100_000 },
    43_200,
    998.4,
    `${bar(13)}  43%  43,200 of 100,000 subscriptions, 998/s, 57 s left`,
  ],
  [
    { unit, total: 1_000_000 },
    0,
    100,
    `${bar(0)}   0%  0 of 1,000,000 subscriptions, 100/s, 3 h left`,
  ],
  [
    { unit, total: 1_000_000 },
    500_000,
    1_000,
    `${bar(15)}  50%  500,000 of 1,000,000 subscriptions, 1,000/s, 8 min left`,
  ],
  [{ unit, total: 5 }, 5, 0, `${bar(30)} 100%  5 of 5 subscriptions`],
])('%j at %d', (options, done, perSecond, line) => {
  expect(progressLine(options, done, perSecond)).toBe(line);
});

test.each([null, 10])('shows only the count when the total is %j', (total) => {
  const options = { unit, total };
  expect(progressLine(options, 1_200, 300)).toBe('1,200 subscriptions, 300/s');
});
