import type { Divergence } from './divergence.ts';
import type { Failure } from './level.ts';
import type { Step } from './lifecycle/delivery-schedule.ts';
import { renderHistory } from './lifecycle/history.ts';
import type { LifecycleChange } from './lifecycle/subscription.ts';

/** One customer and the steps that repeat a divergence. */
type Case = Pick<Failure, 'customer' | 'steps' | 'planSelection'>;

/** Runs a case, and returns its divergences. */
export type RunCase = (candidate: Case) => Promise<readonly Divergence[]>;

/**
 * Finds the fewest changes and steps that still diverge. A change that is left out never happened, so the
 * others get different previous attributes. A case that does not diverge by itself is returned unchanged: if
 * it was found on a database, `run` repeats it in memory, so the database or a race caused the divergence.
 */
export async function shrinkFailure(found: Failure, run: RunCase): Promise<Failure> {
  const { customerId } = found.customer.lifecycle;
  const concerns = (step: Step) => !('customerId' in step) || step.customerId === customerId;
  let best: Failure = { ...found, steps: found.steps.filter(concerns) };

  /** Whether a case also diverges. If so, it becomes the best one. */
  async function diverges(candidate: Case): Promise<boolean> {
    if (!isComplete(candidate)) return false;
    const divergences = await run(candidate);
    if (divergences.length === 0) return false;
    best = { ...best, ...candidate, divergences, isShrunk: true };
    return true;
  }

  if (!(await diverges(best))) return found;
  for (let size = sizeOf(best) + 1; sizeOf(best) < size; ) {
    size = sizeOf(best);
    const kept = best;
    await shrinkList(kept.customer.lifecycle.changes, (left) => diverges(withChanges(kept, left)));
    const fewer = best;
    await shrinkList(fewer.steps, (steps) => diverges({ ...fewer, steps }));
  }
  return best;
}

function sizeOf({ customer, steps }: Case): number {
  return customer.lifecycle.changes.length + steps.length;
}

function withChanges(
  { customer, steps, planSelection }: Case,
  changes: readonly LifecycleChange[],
): Case {
  const numbers = new Set(changes.map(({ number }) => number));
  return {
    planSelection,
    customer: { ...customer, lifecycle: { ...customer.lifecycle, changes } },
    steps: steps.filter((step) => !('number' in step) || numbers.has(step.number)),
  };
}

/** Whether the team is linked, every event is delivered, and every event changes something. */
function isComplete({ customer: { lifecycle, format }, steps }: Case): boolean {
  const delivered = new Set(
    steps.flatMap((step) => (step.kind === 'deliver' ? [step.number] : [])),
  );
  const isLinked = steps.some(({ kind }) => kind === 'link');
  if (!isLinked || !lifecycle.changes.every(({ number }) => delivered.has(number))) return false;
  const { events } = renderHistory(lifecycle, format);
  return !events.some(({ body }) => body.includes('"previous_attributes":{}'));
}

/**
 * Removes the items of a list that are not needed for the failure: delta debugging (Zeller, 2002). The result
 * fails, but not without any one of its items.
 */
export async function shrinkList<Item>(
  items: readonly Item[],
  fails: (candidate: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  let kept = items;
  let size = Math.ceil(kept.length / 2);
  while (size >= 1) {
    const before = kept.length;
    for (let from = 0; from < kept.length; ) {
      const candidate = [...kept.slice(0, from), ...kept.slice(from + size)];
      if (await fails(candidate)) kept = candidate;
      else from += size;
    }
    if (size === 1 && kept.length === before) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return kept;
}
