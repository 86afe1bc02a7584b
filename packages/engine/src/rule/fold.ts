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
import { type PlanSelection, selectedReport } from './plan-selection.ts';
import { isSameReport, reportedBy } from './reported.ts';
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
  const { subscriptionId } = event.subscription;
  const stored = state.subscriptions.get(subscriptionId) ?? dropped(state, subscriptionId, known);
  const group = [...known.inSecondOf(event), event];
  const deciding = decidingAfter(stored?.deciding ?? null, event, group);
  const nextSeconds = known.nextSecondsAfter(event.subscription);
  const latest = latestAfter(stored?.latest ?? null, event, { group, deciding, nextSeconds });
  const subscriptions = new Map(state.subscriptions).set(subscriptionId, { deciding, latest });
  const after = { ...state, subscriptions };

  const hasDecided = deciding !== (stored?.deciding ?? null);
  const outcome = hasDecided
    ? outcomeOf(event, { before: state, after, deciding, planSelection })
    : hasEffect(event)
      ? 'stale'
      : 'unchanged';
  return { state: bounded(after), outcome };
}

/** The state after all these events, in the order of their arrival. */
export function foldAll(
  events: Iterable<SubscriptionEvent>,
  planSelection: PlanSelection,
): CustomerState {
  const known = new KnownEvents();
  let state = NO_STATE;
  for (const event of events) {
    state = fold(state, event, known, planSelection).state;
    known.add(event);
  }
  return state;
}

/** A subscription's deciding event after one more event: the stored one, unless that is older or of the same second. */
function decidingAfter(
  stored: DecidingEvent | null,
  { subscription }: SubscriptionEvent,
  group: readonly SubscriptionEvent[],
): DecidingEvent | null {
  const storedSeconds = stored?.reported.createdSeconds ?? -1;
  if (subscription.createdSeconds < storedSeconds) return stored;
  return lastEventWithEffect(group) ?? stored;
}

type Decision = {
  readonly before: CustomerState;
  readonly after: CustomerState;
  readonly deciding: DecidingEvent | null;
  readonly planSelection: PlanSelection;
};

/** The outcome of an event that changed which one decides for its subscription. */
function outcomeOf(
  event: SubscriptionEvent,
  { before, after, deciding, planSelection }: Decision,
): Outcome {
  const reported = reportedBy(event);
  const selected = selectedReport(after, planSelection);
  // The event itself decides, even if it says the same as the one before it; or it showed that another one does.
  const isApplied =
    selected === reported || !isSameReport(selected, selectedReport(before, planSelection));
  if (isApplied) return 'applied';
  const isOfLesserSubscription = deciding?.reported === reported && planSelection === 'best';
  return !hasEffect(event) || isOfLesserSubscription ? 'unchanged' : 'stale';
}

/** The state of a subscription that was dropped, made again from the log; `undefined`: it is new. */
function dropped(
  { hasDropped }: CustomerState,
  subscriptionId: string | null,
  known: KnownEvents,
): SubscriptionState | undefined {
  if (!hasDropped) return undefined;
  const events = known.ofSubscription(subscriptionId);
  return foldAll(events, 'newest').subscriptions.get(subscriptionId);
}
