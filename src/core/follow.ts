import { type Customer, isSameEvent } from './customer.ts';
import type { EventHistory } from './event-history.ts';
import { followedEvent, type PlanSelection } from './plan-selection.ts';
import { lastOfSecond } from './same-second-order.ts';
import type { SubscriptionChange } from './subscription-event.ts';
import { planAfter } from './transition.ts';

/**
 * The effect of one more event: the team follows it (or another one, when it decided the order of
 * others); something newer was known already; or it changes nothing.
 */
export type Verdict = 'applied' | 'stale' | 'unchanged';

export type Step = { readonly verdict: Verdict; readonly customer: Customer };

/**
 * Takes one more event of a customer (the ordering rules of the design). `history` holds all events
 * of the same subscription and second, including this one and those without an effect.
 */
export function follow(
  customer: Customer,
  { subscription }: SubscriptionChange,
  history: EventHistory,
  planSelection: PlanSelection,
): Step {
  const noEffect = planAfter(subscription) === null;
  const { newest, isOrderAmbiguous } = lastOfSecond(history.secondOf(subscription));
  const known = customer.get(subscription.subscriptionId);
  const isOlder = newest !== null && known && newest.createdSeconds < known.newest.createdSeconds;
  if (newest === null || isOlder) return { verdict: noEffect ? 'unchanged' : 'stale', customer };

  const next = new Map(customer).set(subscription.subscriptionId, { newest, isOrderAmbiguous });
  const before = followedEvent(customer, planSelection);
  const followed = followedEvent(next, planSelection);
  if (followed === subscription || !isSameEvent(followed, before)) {
    return { verdict: 'applied', customer: next };
  }
  const isNewestOfItsOwn = newest === subscription && planSelection === 'best';
  return { verdict: noEffect || isNewestOfItsOwn ? 'unchanged' : 'stale', customer: next };
}
