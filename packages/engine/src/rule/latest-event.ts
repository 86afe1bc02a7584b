// The newest event of a subscription, whatever its status, and since when it has this status.

import type { DecidingEvent, LatestEvent } from './customer-state.ts';
import { isDated, type SubscriptionEvent } from './event.ts';
import type { KnownEvents } from './known-events.ts';
import { reportedBy } from './reported.ts';
import { hasOneStatus, lastEventOf } from './tie-group.ts';

type Evidence = {
  /** The known events of the same second, with this one, in the order of arrival. */
  readonly group: readonly SubscriptionEvent[];
  /** The subscription's deciding event, with this one. */
  readonly deciding: DecidingEvent | null;
  readonly known: KnownEvents;
};

/** A subscription's latest event after one more event. The result is the same for every order of arrival. */
export function latestAfter(
  stored: LatestEvent | null,
  event: SubscriptionEvent,
  evidence: Evidence,
): LatestEvent {
  const { createdSeconds } = event.subscription;
  if (stored === null) return newerEvent(stored, event);
  const difference = createdSeconds - stored.reported.createdSeconds;
  if (difference > 0) return newerEvent(stored, event);
  return difference < 0
    ? withOlderEvent(stored, event, evidence)
    : withEventOfSameSecond(stored, event, evidence);
}

function newerEvent(stored: LatestEvent | null, event: SubscriptionEvent): LatestEvent {
  const reported = reportedBy(event);
  const { createdSeconds, status } = reported;
  if (stored === null) return { reported, sinceSeconds: createdSeconds, otherStatusSeconds: null };
  if (stored.reported.status !== status) {
    const otherStatusSeconds = stored.reported.createdSeconds;
    return { reported, sinceSeconds: createdSeconds, otherStatusSeconds };
  }
  // In a second with several statuses, none of them began for certain.
  const hasBegun = stored.otherStatusSeconds !== stored.reported.createdSeconds;
  return { ...stored, reported, sinceSeconds: hasBegun ? stored.sinceSeconds : createdSeconds };
}

function withEventOfSameSecond(
  stored: LatestEvent,
  event: SubscriptionEvent,
  { group, deciding }: Evidence,
): LatestEvent {
  const reported = reportedBy(
    isDated(event) ? lastEventOf(group.filter(isDated), deciding) : event,
  );
  const { createdSeconds, status } = reported;
  if (hasOneStatus(group) && status === stored.reported.status) return { ...stored, reported };
  return { reported, sinceSeconds: createdSeconds, otherStatusSeconds: createdSeconds };
}

function withOlderEvent(
  stored: LatestEvent,
  { subscription }: SubscriptionEvent,
  { known }: Evidence,
): LatestEvent {
  const { createdSeconds, status } = subscription;
  const { sinceSeconds, otherStatusSeconds } = stored;
  if (otherStatusSeconds !== null && createdSeconds <= otherStatusSeconds) return stored;
  if (status === stored.reported.status) {
    return { ...stored, sinceSeconds: Math.min(createdSeconds, sinceSeconds) };
  }
  // All later events have the latest status, so it began with the first of them, which can have been pruned.
  const nextSeconds = known.nextSecondsAfter(subscription);
  return {
    ...stored,
    sinceSeconds: createdSeconds < sinceSeconds ? sinceSeconds : (nextSeconds ?? sinceSeconds),
    otherStatusSeconds: createdSeconds,
  };
}
