// Keeps what the newest event of a subscription says: after one more event for ingest/decide.ts, and from all events
// for event-log/rebuild.ts.

import { type EventHistory, isDated } from './event-history.ts';
import type { JsonObject } from './json.ts';
import type { ParsedEvent, SubscriptionState } from './subscription-event.ts';
import { lastEventOf } from './tie-group.ts';

/**
 * What a subscription's newest event says, whatever its status. Whether a team has access, and whether Stripe charges a
 * customer twice, follow from it (postgres/access-view.ts, postgres/statements/double-billing.ts).
 */
export type LatestState = {
  readonly subscription: SubscriptionState;
  /** The whole subscription after the event; `null` for a stored state that has not changed. */
  readonly object: JsonObject | null;
  /** When this status began: the first event with it since the last event with another one. */
  readonly sinceSeconds: number;
  /**
   * Whether the events of its own second show which of them is the last, and have one status. Events of other seconds
   * then change this state only if they are newer, or move the time when the status began.
   */
  readonly isSettled: boolean;
};

/** The latest state of each of a customer's subscriptions, like `DecidingEvents`. */
export type LatestStates = ReadonlyMap<string | null, LatestState>;

export const NO_LATEST_STATES: LatestStates = new Map();

type Evidence = {
  /** The events of the same tie group, this one included; the others of the subscription where they are needed. */
  readonly history: EventHistory;
  /** The subscription's deciding event, after this one; `null`: it has none. */
  readonly deciding: SubscriptionState | null;
};

/**
 * A subscription's latest state after one more event. The result is the same for every order of arrival: an event
 * that is newer than all others counts by itself, and for most others the history is looked at. If the state needs
 * other seconds, it counts only if `history` has the subscription's events of those.
 */
export function latestStateAfter(
  stored: LatestState | undefined,
  event: ParsedEvent,
  { history, deciding }: Evidence,
): { state: LatestState; needsOtherSeconds: boolean } {
  const { subscription, object } = event;
  const { createdSeconds, status } = subscription;
  // If there is no stored state, or a settled one, most events need no look at the history.
  if (stored?.isSettled !== false) {
    const storedSeconds = stored?.subscription.createdSeconds ?? -1;
    const isOfSameStatus = stored?.subscription.status === status;
    const sinceSeconds = stored?.sinceSeconds ?? createdSeconds;
    // A newer one that is alone in its second says the new state by itself.
    if (createdSeconds > storedSeconds && history.tieGroupOf(subscription).events.length <= 1) {
      const since = isOfSameStatus ? sinceSeconds : createdSeconds;
      const state = { subscription, object, sinceSeconds: since, isSettled: true };
      return { state, needsOtherSeconds: false };
    }
    // An older one changes nothing if it has the same status and came after the status began, or has another one and came
    // before that.
    const isAfterBegin = createdSeconds >= sinceSeconds;
    if (stored !== undefined && createdSeconds < storedSeconds && isAfterBegin === isOfSameStatus) {
      return { state: stored, needsOtherSeconds: false };
    }
  }
  const events = history.eventsOf(subscription);
  const group = events.filter((event) => event.subscription.createdSeconds === createdSeconds);
  if (stored?.isSettled && createdSeconds === stored.subscription.createdSeconds) {
    const state = latestStateOf(group, { history, deciding, stored });
    if (state.isSettled) return { state, needsOtherSeconds: false };
  }
  return { state: latestStateOf(events, { history, deciding, stored }), needsOtherSeconds: true };
}

/**
 * A subscription's latest state according to these of its events, which are all of a tie group or all that are known.
 * `stored` stands for those that were pruned.
 */
export function latestStateOf(
  events: readonly ParsedEvent[],
  { history, deciding, stored }: Evidence & { readonly stored: LatestState | undefined },
): LatestState {
  const newestSeconds = Math.max(...events.map((event) => event.subscription.createdSeconds));
  if (stored !== undefined && stored.subscription.createdSeconds > newestSeconds) return stored;
  const arrivals = events.filter((event) => event.subscription.createdSeconds === newestSeconds);
  const lastArrival = arrivals.at(-1);
  if (lastArrival === undefined) throw new RangeError('the history lacks the event');
  // Only the arrival of an event without `created` shows its place.
  const { event, isKnown } = isDated(lastArrival)
    ? lastEventOf(history.tieGroupOf(lastArrival.subscription), deciding)
    : { event: lastArrival, isKnown: true };
  const { subscription, object } = event;
  const sinceSeconds = beginOfStatus(subscription, events, stored);
  // The stored state can be of an event without `created`, which only the statement that reads other seconds finds.
  const isOfAnotherStatus = ({
    subscription: { createdSeconds, status },
  }: LatestState | ParsedEvent) =>
    createdSeconds === newestSeconds && status !== subscription.status;
  const isSettled =
    isKnown && !arrivals.some(isOfAnotherStatus) && !(stored && isOfAnotherStatus(stored));
  return { subscription, object, sinceSeconds, isSettled };
}

/** When the status of the newest event began. */
function beginOfStatus(
  { status, createdSeconds }: SubscriptionState,
  events: readonly ParsedEvent[],
  stored: LatestState | undefined,
): number {
  let otherStatusSeconds = -1;
  const withStatusSeconds: number[] = [];
  function add(reportedStatus: string, seconds: number): void {
    if (reportedStatus === status) withStatusSeconds.push(seconds);
    else otherStatusSeconds = Math.max(otherStatusSeconds, seconds);
  }
  for (const { subscription } of events) add(subscription.status, subscription.createdSeconds);
  if (stored !== undefined) add(stored.subscription.status, stored.sinceSeconds);
  return Math.min(
    createdSeconds,
    ...withStatusSeconds.filter((seconds) => seconds > otherStatusSeconds),
  );
}
