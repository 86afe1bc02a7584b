// The ordering rule (docs/ARCHITECTURE.md): what one more event makes of a customer's state. Ingesting an event,
// rebuilding a customer from the log and explaining a plan all call it.

import { bounded } from './bounded-state.ts';
import {
  type CustomerState,
  type DecidingEvent,
  NO_STATE,
  type SubscriptionState,
} from './customer-state.ts';
import type { Outcome, SubscriptionEvent } from './event.ts';
import { hasEffect } from './event-order.ts';
import { KnownEvents } from './known-events.ts';
import { latestAfter } from './latest-event.ts';
import { isSamePlan } from './plan.ts';
import { type PlanSelection, selectedReport } from './plan-selection.ts';
import { reportedBy } from './reported.ts';
import { lastEventWithEffect } from './tie-group.ts';

export type Folded = { readonly state: CustomerState; readonly outcome: Outcome };

/**
 * The customer's state after one more event, and the event's outcome. `known` has the events that `eventsNeededFor` names;
 * further ones change nothing. Pure.
 */
export function fold(
  state: CustomerState,
  event: SubscriptionEvent,
  known: KnownEvents,
  planSelection: PlanSelection,
): Folded {
  if (known.find(event) !== undefined) return { state, outcome: 'duplicate' };
  const { after, deciding } = withEvent(state, event, known);
  const outcome = outcomeOf(event, { before: state, after, deciding, planSelection });
  return { state: bounded(after), outcome };
}

/** The state after all these events, in the order of their arrival. */
export function foldAll(events: Iterable<SubscriptionEvent>): CustomerState {
  const known = new KnownEvents();
  let state = NO_STATE;
  for (const event of events) {
    if (known.find(event) !== undefined) continue;
    state = bounded(withEvent(state, event, known).after);
    known.add(event);
  }
  return state;
}

function withEvent(state: CustomerState, event: SubscriptionEvent, known: KnownEvents) {
  const { subscriptionId } = event.subscription;
  const stored = storedOf(state, subscriptionId, known);
  const group = [...known.inSecondOf(event), event];
  const deciding = decidingAfter(stored?.deciding ?? null, event, group);
  const latest = latestAfter(stored?.latest ?? null, event, { group, deciding, known });
  const subscriptions = new Map(state.subscriptions).set(subscriptionId, { deciding, latest });
  return { after: { ...state, subscriptions }, deciding };
}

/** The state of a subscription, which is made again from the log if it was dropped; `undefined`: it is new. */
function storedOf(
  { subscriptions }: CustomerState,
  subscriptionId: string | null,
  known: KnownEvents,
): SubscriptionState | undefined {
  const stored = subscriptions.get(subscriptionId);
  return stored ?? foldAll(known.ofSubscription(subscriptionId)).subscriptions.get(subscriptionId);
}

/** A subscription's deciding event after one more event: the stored one, unless that is older or of the same second. */
function decidingAfter(
  stored: DecidingEvent | null,
  { subscription }: SubscriptionEvent,
  group: readonly SubscriptionEvent[],
): DecidingEvent | null {
  const isOlder = stored !== null && subscription.createdSeconds < stored.reported.createdSeconds;
  return isOlder ? stored : (lastEventWithEffect(group) ?? stored);
}

type Decision = {
  readonly before: CustomerState;
  readonly after: CustomerState;
  readonly deciding: DecidingEvent | null;
  readonly planSelection: PlanSelection;
};

function outcomeOf(
  event: SubscriptionEvent,
  { before, after, deciding, planSelection }: Decision,
): Outcome {
  const reported = reportedBy(event);
  const selected = selectedReport(after, planSelection);
  const former = selectedReport(before, planSelection);
  // The event itself decides, even if it says the same as the one before it; or it showed that another one does.
  const isChanged = !isSamePlan(selected?.plan ?? null, former?.plan ?? null);
  if (selected === reported || isChanged) return 'applied';
  const isOfLesserSubscription = deciding?.reported === reported && planSelection === 'best';
  return !hasEffect(event) || isOfLesserSubscription ? 'unchanged' : 'stale';
}
