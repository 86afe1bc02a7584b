import type { TeamPlanChoice } from '../../subscriptions/team-plan.ts';
import type { Step } from '../delivery.ts';
import type { Divergence } from '../divergence.ts';
import { tellLife } from '../provider/history.ts';
import type { CustomerLife, Moment } from '../provider/subscription.ts';
import { shrinkList } from '../shrink.ts';
import type { Told } from '../world.ts';
import { readHistory } from './arrivals.ts';
import { runCoreRound } from './core-round.ts';

/** One customer's life and what happened to its events: all that a divergence needs. */
export type CoreCase = {
  readonly told: Told;
  readonly steps: readonly Step[];
  readonly choice: TeamPlanChoice;
};

/** Runs one customer's case. */
export function runCase({ told, steps, choice }: CoreCase): readonly Divergence[] {
  const audience = readHistory(tellLife(told.life, told.telling));
  const audiences = new Map([[told.life.customerId, audience]]);
  return runCoreRound({ audiences, steps, choice }).divergences;
}

/**
 * The fewest events, and the fewest steps, that still diverge. A change that is left out never
 * happened: what the others replaced is told anew. `null` when the case alone does not diverge.
 */
export function shrinkCase(found: CoreCase): CoreCase | null {
  const { customerId } = found.told.life;
  const isConcerned = (step: Step) => !('customerId' in step) || step.customerId === customerId;
  let best: CoreCase = { ...found, steps: found.steps.filter(isConcerned) };
  if (!diverges(best)) return null;

  for (let size = sizeOf(best) + 1; sizeOf(best) < size; ) {
    size = sizeOf(best);
    const kept = best;
    const moments = shrinkList(kept.told.life.moments, (left) => diverges(withMoments(kept, left)));
    const fewer = withMoments(kept, moments);
    const steps = shrinkList(fewer.steps, (left) => diverges({ ...fewer, steps: left }));
    best = { ...fewer, steps };
  }
  return best;
}

function sizeOf({ told, steps }: CoreCase): number {
  return told.life.moments.length + steps.length;
}

function withMoments(found: CoreCase, moments: readonly Moment[]): CoreCase {
  const numbers = new Set(moments.map(({ number }) => number));
  const life: CustomerLife = { ...found.told.life, moments };
  return {
    ...found,
    told: { ...found.told, life },
    steps: found.steps.filter((step) => step.kind !== 'deliver' || numbers.has(step.number)),
  };
}

/** A case counts only as long as everything is linked and delivered, and every change is one. */
function diverges(candidate: CoreCase): boolean {
  const { moments } = candidate.told.life;
  const delivered = new Set(
    candidate.steps.flatMap((step) => (step.kind === 'deliver' ? [step.number] : [])),
  );
  const isLinked = candidate.steps.some(({ kind }) => kind === 'link');
  if (!isLinked || !moments.every(({ number }) => delivered.has(number))) return false;
  const { events } = tellLife(candidate.told.life, candidate.told.telling);
  if (events.some(({ body }) => body.includes('"previous_attributes":{}'))) return false;
  return runCase(candidate).length > 0;
}
