import type { Random } from '../random.ts';
import { isDeterminedByApi, type SimulatedCustomer } from '../world.ts';

/**
 * Outages that last longer than all of Stripe's retries. Each value is the probability for a customer.
 * Customers with shared event ids are exempt: only fixtures have such ids, and no API lists them.
 */
export type Losses = {
  /** Some events are never delivered, only listed. */
  readonly drop: number;
  /** Some events are neither delivered nor listed, as after 30 days. */
  readonly forget: number;
};

export const NO_LOSSES: Losses = { drop: 0, forget: 0 };

export const DEFAULT_LOSSES: Losses = { drop: 0.3, forget: 0.2 };

export type Loss = {
  readonly kind: 'none' | 'dropped' | 'forgotten';
  /** The numbers of the events that are never delivered. */
  readonly numbers: ReadonlySet<number>;
};

const NO_LOSS: Loss = { kind: 'none', numbers: new Set() };

/** Draws a range of the customer's events that are lost, if any. */
export function drawLoss(customer: SimulatedCustomer, losses: Losses, random: Random): Loss {
  const { lifecycle, format } = customer;
  const isForgotten = random.chance(losses.forget);
  const isDropped = random.chance(losses.drop);
  const first = random.below(lifecycle.changes.length);
  const count = 1 + random.below(lifecycle.changes.length - first);
  const lost = lifecycle.changes.slice(first, first + count);
  const numbers = new Set(lost.map(({ number }) => number));
  if (format.hasSharedIds || format.hasUndatedEvents) return NO_LOSS;
  if (isForgotten && format.shape !== 'ancient' && isDeterminedByApi(lifecycle, numbers)) {
    return { kind: 'forgotten', numbers };
  }
  return isDropped ? { kind: 'dropped', numbers } : NO_LOSS;
}
