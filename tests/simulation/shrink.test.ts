import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shrinkList } from '../../src/simulation/shrink.ts';

test('what is left fails, and nothing of it can be missed', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.array(fc.nat(20), { maxLength: 3 }), (items, needed) => {
      const fails = (candidate: readonly number[]) =>
        needed.every((one) => candidate.includes(one));
      fc.pre(fails(items));
      const shrunk = shrinkList(items, fails);
      expect([...shrunk].sort()).toEqual([...new Set(needed)].sort());
    }),
  );
});

test('the order is kept', () => {
  const fails = (candidate: readonly number[]) => /3.*9/.test(candidate.join(' '));
  expect(shrinkList([9, 1, 3, 4, 3, 7, 9, 2], fails)).toEqual([3, 9]);
});
