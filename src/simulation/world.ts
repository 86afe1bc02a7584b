import { liveCustomer } from './provider/customer-life.ts';
import type { Telling } from './provider/history.ts';
import { SHAPES } from './provider/shapes.ts';
import type { CustomerLife } from './provider/subscription.ts';
import { createRandom } from './random.ts';

/** A customer's life, and how it is told. */
export type Told = { readonly life: CustomerLife; readonly telling: Telling };

const START_MS = Date.UTC(2025, 0, 1);
const MAX_CUSTOMERS = 3;
const MAX_MOMENTS = 24;

/**
 * Some customers and all that they live; everything follows from the seed. `name` keeps the ids of
 * several worlds of one seed apart.
 */
export function createWorld(seed: number, name = String(seed)): readonly Told[] {
  const random = createRandom(seed, 1);
  return Array.from({ length: 1 + random.below(MAX_CUSTOMERS) }, (_, index) => {
    const customerId = `cus_${name}_${index + 1}`;
    const maxMoments = 1 + random.below(MAX_MOMENTS);
    const life = liveCustomer({ customerId, startMs: START_MS, maxMoments }, random);
    return {
      life,
      telling: { shape: random.pick(SHAPES), hasSharedIds: random.chance(0.1) },
    };
  });
}
