import type { SubscriptionEvent } from './subscription-event.ts';
import { planAfter, type TeamPlan } from './transition.ts';

/**
 * All that the rule remembers of a customer: of each of its subscriptions the newest event that
 * has an effect. Events that name no subscription count as one more, under `null`.
 */
export type Customer = ReadonlyMap<string | null, SubscriptionEvent>;

export const UNKNOWN_CUSTOMER: Customer = new Map();

/** What one more event does to a customer and to the team that follows it. */
export type Step =
  | { readonly verdict: 'applied'; readonly customer: Customer; readonly plan: TeamPlan }
  | { readonly verdict: 'stale' | 'unchanged'; readonly customer: Customer };

/**
 * Takes one more event of a customer (the design's rule, points 1, 2 and 5). A status without
 * effect moves nothing, not even the clock. Of two events in one second the later arrival wins.
 */
export function follow(customer: Customer, event: SubscriptionEvent): Step {
  const plan = planAfter(event);
  if (plan === null) return { verdict: 'unchanged', customer };

  const known = customer.get(event.subscriptionId);
  if (known !== undefined && isOlder(event, known)) return { verdict: 'stale', customer };

  const next = new Map(customer).set(event.subscriptionId, event);
  const newerElsewhere = [...customer.values()].some((other) => isOlder(event, other));
  return newerElsewhere
    ? { verdict: 'stale', customer: next }
    : { verdict: 'applied', customer: next, plan };
}

function isOlder(event: SubscriptionEvent, than: SubscriptionEvent): boolean {
  return event.createdSeconds < than.createdSeconds;
}
