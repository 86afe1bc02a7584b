import { liveCustomer } from './provider/customer-life.ts';
import type { Telling } from './provider/history.ts';
import { SHAPES } from './provider/shapes.ts';
import type { CustomerLife, Status } from './provider/subscription.ts';
import { createRandom } from './random.ts';

/** A customer's life, and how it is told. */
export type Told = { readonly life: CustomerLife; readonly telling: Telling };

const START_MS = Date.UTC(2025, 0, 1);
const MAX_CUSTOMERS = 3;
const MAX_MOMENTS = 24;

const HAS_EFFECT: readonly Status[] = ['active', 'trialing', 'unpaid', 'canceled'];

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
    // Where nothing tells the order of a second but the API, the API must be able to tell it.
    const isTold = life.moments.every(({ subscription }) =>
      HAS_EFFECT.includes(subscription.status),
    );
    return {
      life,
      telling: {
        shape: random.pick(SHAPES),
        hasSharedIds: random.chance(0.1),
        namesReplaced: !isTold || random.chance(0.5),
      },
    };
  });
}
