import type { Step } from '../../src/testing/lifecycle/delivery-schedule.ts';
import { tellLife } from '../../src/testing/lifecycle/history.ts';
import type { CustomerLife } from '../../src/testing/lifecycle/subscription.ts';
import { choiceOfRound } from '../core/core-level.ts';
import { runCoreRound } from '../core/core-round.ts';
import { readHistory } from '../core/customer-events.ts';
import { runCase } from '../core/run-case.ts';
import type { Failure } from '../level.ts';
import { shrinkFailure } from '../shrink-case.ts';
import { orders } from './delivery-orders.ts';
import { type Alphabet, shortLives } from './short-lifecycles.ts';

export type EnumerationOptions = {
  /** How many events a life has. */
  readonly length: number;
  /** How many deliveries there are beside the first one of each event. */
  readonly extra: number;
  readonly alphabet: Alphabet;
  readonly onProgress?: (deliveries: number) => void;
};

export type Enumerated = {
  readonly lives: number;
  readonly orders: number;
  readonly deliveries: number;
  readonly failure: Failure | null;
};

/**
 * Delivers every short life in every order, and audits the team after each. When the team is linked,
 * what comes in one batch, whether the keeper has a turn amidst, and TEAM_PLAN take turns.
 */
export async function enumerate(options: EnumerationOptions): Promise<Enumerated> {
  const { length, extra, alphabet, onProgress } = options;
  const allOrders = [...orders(length, extra)];
  const sum = { lives: 0, orders: 0, deliveries: 0 };
  for (const life of shortLives(length, alphabet)) {
    const telling = { shape: 'classic', hasSharedIds: false, namesReplaced: true } as const;
    const audience = readHistory(tellLife(life, telling));
    const audiences = new Map([[life.customerId, audience]]);
    sum.lives += 1;
    for (const order of allOrders) {
      const variant = sum.orders;
      const steps = stepsOf(life, order, variant);
      const planSelection = choiceOfRound(variant);
      const { divergences } = runCoreRound({ audiences, steps, planSelection });
      sum.orders += 1;
      sum.deliveries += order.length;
      if (divergences.length > 0) {
        const told = { life, telling };
        const found = {
          seed: 0,
          round: 0,
          planSelection,
          divergences,
          told,
          steps,
          isShrunk: false,
        };
        return { ...sum, failure: await shrinkFailure(found, runCase) };
      }
    }
    onProgress?.(sum.deliveries);
  }
  return { ...sum, failure: null };
}

/** The API has the last word on a second only when that is over. */
const LATER_MS = 60_000;

function stepsOf(life: CustomerLife, order: readonly number[], variant: number): Step[] {
  const { customerId, moments } = life;
  const atMs = (moments.at(-1)?.atMs ?? 0) + LATER_MS;
  // Co-prime periods, so that every combination has its turn.
  const linkedAfter = [0, 0, 1, 2, order.length][variant % 5] ?? 0;
  const isTogether = Math.floor(variant / 2) % 3 === 2;
  const keeperAfter = variant % 7;

  const link: Step = { kind: 'link', atMs, customerId };
  const steps = order.flatMap((number, index): Step[] => [
    ...(index === linkedAfter ? [link] : []),
    { kind: 'deliver', atMs, customerId, number, isTogether, hasApi: variant % 11 > 2 },
    ...(index + 1 === keeperAfter ? KEEPER.map((kind): Step => turn(kind, atMs)) : []),
  ]);
  return linkedAfter >= order.length ? [...steps, link] : steps;
}

const KEEPER = ['repair', 'ask', 'answer'] as const;

function turn(kind: (typeof KEEPER)[number], atMs: number): Step {
  return kind === 'answer' ? { kind, atMs } : { kind, atMs, hasApi: true };
}
