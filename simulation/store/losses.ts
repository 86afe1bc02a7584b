import type { Random } from '../../src/testing/random.ts';
import { isToldByApi, type Told } from '../world.ts';

/**
 * Outages that outlast all of Stripe's repeats. Each is a probability, of every customer; shared ids
 * are of fixtures, and no API lists those.
 */
export type Losses = {
  /** Some events are never delivered, and only listed. */
  readonly drop: number;
  /** Nor are they listed, since that was more than 30 days ago. */
  readonly forget: number;
};

export const NO_LOSSES: Losses = { drop: 0, forget: 0 };

export const DEFAULT_LOSSES: Losses = { drop: 0.3, forget: 0.2 };

/** What a customer's events suffer. */
export type Loss = {
  readonly kind: 'none' | 'dropped' | 'forgotten';
  /** The numbers of the events that are never delivered. */
  readonly numbers: ReadonlySet<number>;
};

export const NO_LOSS: Loss = { kind: 'none', numbers: new Set() };

/** Takes some events that followed one another, if any. */
export function lose({ life, telling }: Told, losses: Losses, random: Random): Loss {
  const isForgotten = random.chance(losses.forget);
  const isDropped = random.chance(losses.drop);
  const first = random.below(life.moments.length);
  const count = 1 + random.below(life.moments.length - first);
  const lost = life.moments.slice(first, first + count);
  const numbers = new Set(lost.map(({ number }) => number));
  if (telling.hasSharedIds) return NO_LOSS;
  if (isForgotten && telling.shape !== 'ancient' && isToldByApi(life, numbers)) {
    return { kind: 'forgotten', numbers };
  }
  return isDropped ? { kind: 'dropped', numbers } : NO_LOSS;
}
