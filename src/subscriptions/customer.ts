import { type CausedEvent, endOfSecond } from './second.ts';
import type { SubscriptionEvent } from './subscription-event.ts';
import { followedEvent, type TeamPlanChoice } from './team-plan.ts';
import { planAfter } from './transition.ts';

/** What is known of a subscription: its newest event that has an effect. */
export type SubscriptionState = {
  readonly newest: SubscriptionEvent;
  /** Whether cause has put it last, where there were several within one second. */
  readonly isCertain: boolean;
};

/**
 * All that the rule remembers of a customer, by subscription. Events that name no subscription
 * count as one more, under `null`.
 */
export type Customer = ReadonlyMap<string | null, SubscriptionState>;

export const UNKNOWN_CUSTOMER: Customer = new Map();

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
  { subscription }: CausedEvent,
  second: readonly CausedEvent[],
  choice: TeamPlanChoice,
): Step {
  const noEffect = planAfter(subscription) === null;
  const { newest, isCertain } = endOfSecond(second);
  const known = customer.get(subscription.subscriptionId);
  if (newest === null || (known !== undefined && isOlder(newest, known.newest))) {
    return { verdict: noEffect ? 'unchanged' : 'stale', customer };
  }

  const next = new Map(customer).set(subscription.subscriptionId, { newest, isCertain });
  const before = followedEvent(customer, choice);
  const followed = followedEvent(next, choice);
  if (followed === subscription || !isSameEvent(followed, before)) {
    return { verdict: 'applied', customer: next };
  }
  const isNewestOfItsOwn = newest === subscription && choice === 'best';
  return { verdict: noEffect || isNewestOfItsOwn ? 'unchanged' : 'stale', customer: next };
}

function isOlder(event: SubscriptionEvent, than: SubscriptionEvent): boolean {
  return event.createdSeconds < than.createdSeconds;
}

/** Whether two events say the same; one of them may come from the database. */
function isSameEvent(one: SubscriptionEvent | null, other: SubscriptionEvent | null): boolean {
  if (one === null || other === null) return one === other;
  return (
    one.customerId === other.customerId &&
    one.subscriptionId === other.subscriptionId &&
    one.status === other.status &&
    one.productId === other.productId &&
    one.planName === other.planName &&
    one.createdSeconds === other.createdSeconds
  );
}

/** Whether two states say the same. */
export function isSameState(one: SubscriptionState, other: SubscriptionState | undefined): boolean {
  return isSameEvent(one.newest, other?.newest ?? null) && one.isCertain === other?.isCertain;
}
