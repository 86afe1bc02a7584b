import type { Step } from '../src/testing/lifecycle/delivery-schedule.ts';
import { tellLife } from '../src/testing/lifecycle/history.ts';
import type { Moment } from '../src/testing/lifecycle/subscription.ts';
import type { Divergence } from './divergence.ts';
import type { Failure } from './level.ts';
import { shrinkList } from './shrink.ts';

/** One customer's life and what happened to its events: all that a divergence needs. */
export type Case = Pick<Failure, 'told' | 'steps' | 'planSelection'>;

/** Lives a case once more, and says where it diverges. */
export type RunCase = (candidate: Case) => Promise<readonly Divergence[]>;

/**
 * The fewest events, and the fewest steps, that still diverge. A change that is left out never
 * happened: what the others replaced is told anew. What does not diverge alone stays as it is.
 */
export async function shrinkFailure(found: Failure, run: RunCase): Promise<Failure> {
  const { customerId } = found.told.life;
  const isConcerned = (step: Step) => !('customerId' in step) || step.customerId === customerId;
  let best: Failure = { ...found, steps: found.steps.filter(isConcerned) };

  /** Whether a case diverges too; then it is the best one until now. */
  async function diverges(candidate: Case): Promise<boolean> {
    if (!isWhole(candidate)) return false;
    const divergences = await run(candidate);
    if (divergences.length === 0) return false;
    best = { ...best, ...candidate, divergences, isShrunk: true };
    return true;
  }

  if (!(await diverges(best))) return found;
  for (let size = sizeOf(best) + 1; sizeOf(best) < size; ) {
    size = sizeOf(best);
    const kept = best;
    await shrinkList(kept.told.life.moments, (left) => diverges(withMoments(kept, left)));
    const fewer = best;
    await shrinkList(fewer.steps, (steps) => diverges({ ...fewer, steps }));
  }
  return best;
}

function sizeOf({ told, steps }: Case): number {
  return told.life.moments.length + steps.length;
}

function withMoments({ told, steps, planSelection }: Case, moments: readonly Moment[]): Case {
  const numbers = new Set(moments.map(({ number }) => number));
  return {
    planSelection,
    told: { ...told, life: { ...told.life, moments } },
    steps: steps.filter((step) => step.kind !== 'deliver' || numbers.has(step.number)),
  };
}

/** A case counts only as long as everything is linked and delivered, and every change is one. */
function isWhole({ told, steps }: Case): boolean {
  const delivered = new Set(
    steps.flatMap((step) => (step.kind === 'deliver' ? [step.number] : [])),
  );
  const isLinked = steps.some(({ kind }) => kind === 'link');
  if (!isLinked || !told.life.moments.every(({ number }) => delivered.has(number))) return false;
  const { events } = tellLife(told.life, told.telling);
  return !events.some(({ body }) => body.includes('"previous_attributes":{}'));
}
