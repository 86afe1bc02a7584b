import { liveCustomer } from '../src/testing/lifecycle/customer-lifecycle.ts';
import type { Telling } from '../src/testing/lifecycle/history.ts';
import { SHAPES } from '../src/testing/lifecycle/shapes.ts';
import type { CustomerLife, Moment, Status } from '../src/testing/lifecycle/subscription.ts';
import { createRandom } from '../src/testing/random.ts';

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
    return {
      life,
      telling: {
        shape: random.pick(SHAPES),
        hasSharedIds: random.chance(0.1),
        namesReplaced: !canApiTellOrder(life) || random.chance(0.5),
      },
    };
  });
}

/**
 * Where nothing tells the order of a second but the API, the API must be able to tell it: it shows
 * the status that is, and not one before it.
 */
export function canApiTellOrder({ moments }: CustomerLife): boolean {
  return moments.every(({ subscription }) => HAS_EFFECT.includes(subscription.status));
}

/**
 * Whether the API alone tells what the customer's team must be when these events are lost. Of each
 * subscription the last event with an effect must be known, with all of its second, which tells its
 * order; or it must be what the API shows, and be dated: by the end of the subscription, unless the
 * customer has no other.
 */
export function isToldByApi({ moments }: CustomerLife, lost: ReadonlySet<number>): boolean {
  const lastWithEffect = new Map<string, Moment>();
  for (const moment of moments) {
    const { id, status } = moment.subscription;
    if (HAS_EFFECT.includes(status)) lastWithEffect.set(id, moment);
  }
  return [...lastWithEffect].every(([id, last]) => {
    const ofIt = moments.filter(({ subscription }) => subscription.id === id);
    const isLost = ofIt.some((one) => secondOf(one) === secondOf(last) && lost.has(one.number));
    const isDated = last.subscription.status === 'canceled' || lastWithEffect.size === 1;
    return !isLost || (ofIt.at(-1) === last && isDated);
  });
}

function secondOf({ atMs }: Moment): number {
  return Math.floor(atMs / 1_000);
}
