import { EventHistory } from './event-history.ts';
import {
  type Customer,
  type DecidedSubscription,
  NO_SUBSCRIPTIONS,
  type PlanSelection,
  selectedEvent,
} from './plan-selection.ts';
import { haveSameFields, type LoggedOutcome, type ParsedEvent } from './subscription-event.ts';
import { type LastOfTieGroup, lastOfTieGroup } from './tie-group.ts';
import { planAfter } from './transition.ts';

/** A customer after one more event, and the outcome of that event. */
export type EventDecision = {
  /**
   * `applied`: the event now decides the team's plan, or showed which other event does. `stale`: a newer event
   * takes precedence. `unchanged`: the event has no effect, or is the deciding one of a subscription that is not
   * the best.
   */
  readonly outcome: Extract<LoggedOutcome, 'applied' | 'stale' | 'unchanged'>;
  readonly customer: Customer;
};

/** The customer after all these events, in the order of their arrival. */
export function customerAfter(
  events: Iterable<ParsedEvent>,
  planSelection: PlanSelection,
): Customer {
  const history = new EventHistory();
  let customer = NO_SUBSCRIPTIONS;
  for (const event of events) {
    history.add(event);
    customer = decideEvent(customer, event, history, planSelection).customer;
  }
  return customer;
}

/**
 * Applies the ordering rule (docs/ARCHITECTURE.md) to one more event of a customer. `history` holds the event's
 * tie group, including this event and those without an effect; and the tie groups beside it where the order
 * depends on them.
 */
export function decideEvent(
  customer: Customer,
  event: ParsedEvent,
  history: EventHistory,
  planSelection: PlanSelection,
): EventDecision {
  const { subscription } = event;
  const hasNoEffect = planAfter(subscription) === null;
  const current = customer.get(subscription.subscriptionId);
  const state = changedSubscription(
    current,
    lastOfTieGroup(history.tieGroupOf(subscription)),
    history,
  );
  if (state === null) return { outcome: hasNoEffect ? 'unchanged' : 'stale', customer };

  const next = new Map(customer).set(subscription.subscriptionId, state);
  const before = selectedEvent(customer, planSelection);
  const after = selectedEvent(next, planSelection);
  if (after === subscription || !haveSameFields(after, before)) {
    return { outcome: 'applied', customer: next };
  }
  const isOfLesserSubscription = state.deciding === subscription && planSelection === 'best';
  return { outcome: hasNoEffect || isOfLesserSubscription ? 'unchanged' : 'stale', customer: next };
}

/** The subscription after this tie group, or `null` when it stays the same. */
function changedSubscription(
  current: DecidedSubscription | undefined,
  { last, order }: LastOfTieGroup,
  history: EventHistory,
): DecidedSubscription | null {
  if (last !== null && !(current && last.createdSeconds < current.deciding.createdSeconds)) {
    return { deciding: last, order };
  }
  if (current === undefined) return null;
  // The event belongs to another tie group, and can show the order of the newest one.
  const again = lastOfTieGroup(history.tieGroupOf(current.deciding));
  return again.last === null ? null : { deciding: again.last, order: again.order };
}
