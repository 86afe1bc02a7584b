import fc from 'fast-check';
import { BoundedCache } from 'instep-engine/runtime';
import { expect, test } from 'vitest';

const key = fc.integer({ min: 0, max: 7 });
const use = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), key, value: fc.integer() }),
  fc.record({ kind: fc.constantFrom('get' as const, 'delete' as const), key }),
);

test('holds the most recently used entries, up to its limit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(use), (maxEntries, uses) => {
      const cache = new BoundedCache<number, number>(maxEntries);
      /** The expected entries, the most recently used one first. */
      let expected: readonly (readonly [number, number])[] = [];
      for (const one of uses) {
        const found = expected.find(([key]) => key === one.key);
        const others = expected.filter(([key]) => key !== one.key);
        if (one.kind === 'get') expect(cache.get(one.key)).toBe(found?.[1]);
        if (one.kind === 'set') cache.set(one.key, one.value);
        if (one.kind === 'delete') cache.delete(one.key);
        const entry = one.kind === 'set' ? ([one.key, one.value] as const) : found;
        const kept = one.kind === 'delete' || entry === undefined ? [] : [entry];
        expected = [...kept, ...others].slice(0, maxEntries);
      }
      for (let key = 0; key <= 7; key += 1) {
        expect(cache.get(key)).toBe(expected.find(([one]) => one === key)?.[1]);
      }
    }),
  );
});
