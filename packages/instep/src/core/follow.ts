import { type Customer, NO_SUBSCRIPTIONS, type SubscriptionState } from './customer.ts';
import { EventHistory } from './event-history.ts';
import type { LoggedOutcome } from './logged-event.ts';
import { followedEvent, type PlanSelection } from './plan-selection.ts';
import { type LastOfTieGroup, lastOfTieGroup } from './same-second-order.ts';
import { haveSameFields, type SubscriptionChange } from './subscription-event.ts';
import { planAfter } from './transition.ts';

/** A customer after one more event, and the outcome of that event. */
export type FollowResult = {
  /**
   * `applied`: the team follows the event, or another one whose order the event decided. `stale`:
   * something newer takes precedence. `unchanged`: the event has no effect, or is the newest one of a
   * subscription that is not the best.
   */
  readonly outcome: Extract<LoggedOutcome, 'applied' | 'stale' | 'unchanged'>;
  readonly customer: Customer;
};

/** The customer after all these events, in the order of their arrival. */
export function followAll(
  changes: Iterable<SubscriptionChange>,
  planSelection: PlanSelection,
): Customer {
  const history = new EventHistory();
  let customer = NO_SUBSCRIPTIONS;
  for (const change of changes) {
    history.add(change);
    customer = follow(customer, change, history, planSelection).customer;
  }
  return customer;
}

/**
 * Applies the ordering rule (docs/ARCHITECTURE.md) to one more event of a customer. `history` holds the
 * events of the same subscription and second, including this one and those without an effect; and the
 * neighboring seconds where the order depends on them.
 */
export function follow(
  customer: Customer,
  change: SubscriptionChange,
  history: EventHistory,
  planSelection: PlanSelection,
): FollowResult {
  const { subscription } = change;
  const hasNoEffect = planAfter(subscription) === null;
  const current = customer.get(subscription.subscriptionId);
  const state = newerState(current, lastOfTieGroup(history.tieGroupOf(subscription)), history);
  if (state === null) return { outcome: hasNoEffect ? 'unchanged' : 'stale', customer };

  const next = new Map(customer).set(subscription.subscriptionId, state);
  const before = followedEvent(customer, planSelection);
  const followed = followedEvent(next, planSelection);
  if (followed === subscription || !haveSameFields(followed, before)) {
    return { outcome: 'applied', customer: next };
  }
  const isNewestButNotBest = state.newest === subscription && planSelection === 'best';
  return { outcome: hasNoEffect || isNewestButNotBest ? 'unchanged' : 'stale', customer: next };
}

/** The state after the last event of one more second, or `null` when it stays the same. */
function newerState(
  current: SubscriptionState | undefined,
  { newest, order }: LastOfTieGroup,
  history: EventHistory,
): SubscriptionState | null {
  if (newest !== null && !(current && newest.createdSeconds < current.newest.createdSeconds)) {
    return { newest, order };
  }
  if (current === undefined) return null;
  // The event belongs to another second, and may decide the order of the newest one.
  const again = lastOfTieGroup(history.tieGroupOf(current.newest));
  return again.newest === null ? null : { newest: again.newest, order: again.order };
}
