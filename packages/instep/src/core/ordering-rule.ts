// The ordering rule: for one event in ingest/decide.ts, and for all events of a customer in event-log/.

import { EventHistory } from './event-history.ts';
import {
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  type PlanSelection,
  selectedSubscription,
} from './plan-selection.ts';
import {
  isSameState,
  type LoggedOutcome,
  type ParsedEvent,
  type SubscriptionState,
} from './subscription-event.ts';
import { type DecidingEvent, lastEventWithEffect } from './tie-group.ts';
import { planAfter } from './transition.ts';

/** A customer's deciding events after one more event, and the outcome of that event. */
export type EventDecision = {
  /**
   * `applied`: the event now decides the team's plan, or showed which other event does. `stale`: a newer event
   * takes precedence. `unchanged`: the event has no effect, or is the deciding one of a subscription that is not
   * the best.
   */
  readonly outcome: Extract<LoggedOutcome, 'applied' | 'stale' | 'unchanged'>;
  readonly decidingEvents: DecidingEvents;
};

/** A customer's deciding events after all these events, in the order of their arrival. */
export function decidingEventsOf(
  events: Iterable<ParsedEvent>,
  planSelection: PlanSelection,
): DecidingEvents {
  const history = new EventHistory();
  let decidingEvents = NO_DECIDING_EVENTS;
  for (const event of events) {
    history.add(event);
    decidingEvents = decideEvent(decidingEvents, event, history, planSelection).decidingEvents;
  }
  return decidingEvents;
}

/**
 * Applies the ordering rule (docs/ARCHITECTURE.md) to one more event of a customer. `history` holds the event's
 * tie group, including this event and those without an effect.
 */
export function decideEvent(
  decidingEvents: DecidingEvents,
  event: ParsedEvent,
  history: EventHistory,
  planSelection: PlanSelection,
): EventDecision {
  const { subscription } = event;
  const hasNoEffect = planAfter(subscription) === null;
  const stored = decidingEvents.get(subscription.subscriptionId);
  const deciding = newDecidingEvent(stored, subscription, history);
  if (deciding === null) return { outcome: hasNoEffect ? 'unchanged' : 'stale', decidingEvents };

  const changed = new Map(decidingEvents).set(subscription.subscriptionId, deciding);
  const selectedBefore = selectedSubscription(decidingEvents, planSelection);
  const selected = selectedSubscription(changed, planSelection);
  // The event itself decides, even if it says the same as the one before it; or it showed that another one does.
  if (selected === subscription || !isSameState(selected, selectedBefore)) {
    return { outcome: 'applied', decidingEvents: changed };
  }
  const isOfLesserSubscription = deciding.subscription === subscription && planSelection === 'best';
  const outcome = hasNoEffect || isOfLesserSubscription ? 'unchanged' : 'stale';
  return { outcome, decidingEvents: changed };
}

/**
 * The deciding event of a subscription after one more event; `null`: the stored one, because the event has no effect or is
 * older.
 */
function newDecidingEvent(
  stored: DecidingEvent | undefined,
  subscription: SubscriptionState,
  history: EventHistory,
): DecidingEvent | null {
  const last = lastEventWithEffect(history.tieGroupOf(subscription));
  if (stored === undefined) return last;
  const storedSeconds = stored.subscription.createdSeconds;
  if (last !== null && last.subscription.createdSeconds >= storedSeconds) return last;
  return null;
}
