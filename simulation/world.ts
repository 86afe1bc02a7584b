import { hasEffect } from './expected-team.ts';
import { generateLifecycle } from './lifecycle/customer-lifecycle.ts';
import type { EventFormat } from './lifecycle/history.ts';
import { SHAPES } from './lifecycle/shapes.ts';
import {
  type CustomerLifecycle,
  hasEnded,
  type LifecycleChange,
} from './lifecycle/subscription.ts';
import { createRandom } from './random.ts';

export type SimulatedCustomer = {
  readonly lifecycle: CustomerLifecycle;
  readonly format: EventFormat;
};

const START_MS = Date.UTC(2025, 0, 1);
const MAX_CUSTOMERS = 3;
const MAX_CHANGES = 24;

/**
 * Creates a world: some customers and their lifecycles, determined by the seed. `name` keeps the ids of
 * several worlds of one seed apart.
 */
export function createWorld(seed: number, name = String(seed)): readonly SimulatedCustomer[] {
  const random = createRandom(seed, 1);
  return Array.from({ length: 1 + random.below(MAX_CUSTOMERS) }, (_, index) => {
    const customerId = `cus_${name}_${index + 1}`;
    const maxChanges = 1 + random.below(MAX_CHANGES);
    const lifecycle = generateLifecycle({ customerId, startMs: START_MS, maxChanges }, random);
    return {
      lifecycle,
      format: {
        shape: random.pick(SHAPES),
        hasSharedIds: random.chance(0.1),
        hasPreviousAttributes: !apiRevealsOrder(lifecycle) || random.chance(0.5),
      },
    };
  });
}

const UNDATED = 0.1;

/** Some of these customers have events without `created`. The seed determines these as well. */
export function withUndatedEvents(
  world: readonly SimulatedCustomer[],
  seed: number,
): readonly SimulatedCustomer[] {
  const random = createRandom(seed, 7);
  return world.map(({ lifecycle, format }) => ({
    lifecycle,
    format: { ...format, hasUndatedEvents: random.chance(UNDATED) },
  }));
}

/**
 * Whether the API alone can decide the order of a second. It returns only the current state, so
 * every status must have an effect.
 */
export function apiRevealsOrder({ changes }: CustomerLifecycle): boolean {
  return changes.every(({ subscription }) => hasEffect(subscription.status));
}

/**
 * Whether the API alone determines the customer's team when these events are lost. The last event of each
 * subscription with an effect must be delivered, together with its whole second, which decides its order.
 * Otherwise that event must be the state that the API returns and must have a time: it must be the end of the
 * subscription, unless the customer has no other subscription.
 */
export function isDeterminedByApi(
  { changes }: CustomerLifecycle,
  lost: ReadonlySet<number>,
): boolean {
  const lastWithEffect = new Map<string, LifecycleChange>();
  for (const change of changes) {
    const { id, status } = change.subscription;
    if (hasEffect(status)) lastWithEffect.set(id, change);
  }
  return [...lastWithEffect].every(([id, last]) => {
    const ofIt = changes.filter(({ subscription }) => subscription.id === id);
    const isLost = ofIt.some((one) => secondOf(one) === secondOf(last) && lost.has(one.number));
    const hasTime = hasEnded(last.subscription.status) || lastWithEffect.size === 1;
    return !isLost || (ofIt.at(-1) === last && hasTime);
  });
}

function secondOf({ atMs }: LifecycleChange): number {
  return Math.floor(atMs / 1_000);
}
