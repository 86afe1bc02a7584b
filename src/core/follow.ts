import { type Customer, isSameEvent } from './customer.ts';
import { followedEvent, type PlanSelection } from './plan-selection.ts';
import { lastOfSecond } from './same-second-order.ts';
import type { SubscriptionChange, SubscriptionEvent } from './subscription-event.ts';
import { planAfter } from './transition.ts';

/**
 * What one more event did: the team follows it now (or, since its cause tells the order of others,
 * another one); or something newer was there; or it changes nothing.
 */
export type Verdict = 'applied' | 'stale' | 'unchanged';

export type Step = { readonly verdict: Verdict; readonly customer: Customer };

/**
 * Takes one more event of a customer (the design's rule). `second` holds all events of the same
 * subscription and second in the order of their arrival, this one and those without effect too.
 */
export function follow(
  customer: Customer,
  { subscription }: SubscriptionChange,
  second: readonly SubscriptionChange[],
  planSelection: PlanSelection,
): Step {
  const noEffect = planAfter(subscription) === null;
  const { newest, isOrderAmbiguous } = lastOfSecond(second);
  const known = customer.get(subscription.subscriptionId);
  if (newest === null || (known !== undefined && isOlder(newest, known.newest))) {
    return { verdict: noEffect ? 'unchanged' : 'stale', customer };
  }

  const next = new Map(customer).set(subscription.subscriptionId, { newest, isOrderAmbiguous });
  const before = followedEvent(customer, planSelection);
  const followed = followedEvent(next, planSelection);
  if (followed === subscription || !isSameEvent(followed, before)) {
    return { verdict: 'applied', customer: next };
  }
  const isNewestOfItsOwn = newest === subscription && planSelection === 'best';
  return { verdict: noEffect || isNewestOfItsOwn ? 'unchanged' : 'stale', customer: next };
}

function isOlder(event: SubscriptionEvent, than: SubscriptionEvent): boolean {
  return event.createdSeconds < than.createdSeconds;
}
