import { type Customer, isSameEvent, type SubscriptionState } from './customer.ts';
import type { EventHistory } from './event-history.ts';
import { followedEvent, type PlanSelection } from './plan-selection.ts';
import { type LastOfSecond, lastOfSecond } from './same-second-order.ts';
import type { SubscriptionChange } from './subscription-event.ts';
import { planAfter } from './transition.ts';

/**
 * The effect of one more event: the team follows it, or another one whose order it decided; or
 * something newer was known already; or it changes nothing.
 */
export type Verdict = 'applied' | 'stale' | 'unchanged';

export type Step = { readonly verdict: Verdict; readonly customer: Customer };

/**
 * Takes one more event of a customer (the ordering rules of the design). `history` holds the known
 * events of the same subscription and second, including this one and those without an effect; and
 * the neighbouring seconds where the order depends on them.
 */
export function follow(
  customer: Customer,
  { subscription }: SubscriptionChange,
  history: EventHistory,
  planSelection: PlanSelection,
): Step {
  const noEffect = planAfter(subscription) === null;
  const known = customer.get(subscription.subscriptionId);
  const state = newerState(known, lastOfSecond(history.secondOf(subscription)), history);
  if (state === null) return { verdict: noEffect ? 'unchanged' : 'stale', customer };

  const next = new Map(customer).set(subscription.subscriptionId, state);
  const before = followedEvent(customer, planSelection);
  const followed = followedEvent(next, planSelection);
  if (followed === subscription || !isSameEvent(followed, before)) {
    return { verdict: 'applied', customer: next };
  }
  const isNewestOfItsOwn = state.newest === subscription && planSelection === 'best';
  return { verdict: noEffect || isNewestOfItsOwn ? 'unchanged' : 'stale', customer: next };
}

/** The state after the end of one more second, or `null` when it stays the same. */
function newerState(
  known: SubscriptionState | undefined,
  { newest, order }: LastOfSecond,
  history: EventHistory,
): SubscriptionState | null {
  if (newest !== null && !(known && newest.createdSeconds < known.newest.createdSeconds)) {
    return { newest, order };
  }
  if (known === undefined) return null;
  // The event belongs to another second, and may decide the order of the newest one.
  const again = lastOfSecond(history.secondOf(known.newest));
  return again.newest === null ? null : { newest: again.newest, order: again.order };
}
