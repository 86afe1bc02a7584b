/** A source of randomness that is determined by its seed. */
export type Random = {
  /** At least 0, less than 1. */
  next(): number;
  /** A whole number, at least 0, less than `limit`. */
  below(limit: number): number;
  /** Returns true with this probability. */
  chance(probability: number): boolean;
  /** @throws RangeError when there are no items */
  pick<Item>(items: readonly Item[]): Item;
};

/**
 * A generator of the family sfc32 (Chris Doty-Humphrey's PractRand): 128 bits of state, fast, and
 * the same on every machine.
 */
export function createRandom(...seeds: readonly number[]): Random {
  let [a, b, c, counter] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 1];

  function next32(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  }

  for (const seed of seeds) {
    a ^= seed | 0;
    b ^= Math.floor(seed / 2 ** 32) | 0;
    // Neighboring seeds need some rounds until their states differ enough.
    for (let round = 0; round < 12; round += 1) next32();
  }

  const next = () => next32() / 2 ** 32;
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick(items) {
      const item = items[below(items.length)];
      if (item === undefined) throw new RangeError('there are no items to pick from');
      return item;
    },
  };
}
