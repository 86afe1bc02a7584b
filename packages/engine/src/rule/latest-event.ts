// The newest event of a subscription, whatever its status, and since when it has this status.

import type { DecidingEvent, LatestEvent } from './customer-state.ts';
import type { SubscriptionEvent } from './event.ts';
import { reportedBy } from './reported.ts';
import { hasOneStatus, lastEventOf } from './tie-group.ts';

type Evidence = {
  /** The known events of the same second, with this one, in the order of arrival. */
  readonly group: readonly SubscriptionEvent[];
  /** The subscription's deciding event, with this one. */
  readonly deciding: DecidingEvent | null;
  /** The second of the subscription's next event after this one; `null`: there is none. */
  readonly nextSeconds: number | null;
};

/** A subscription's latest event after one more event. The result is the same for every order of arrival. */
export function latestAfter(
  stored: LatestEvent | null,
  event: SubscriptionEvent,
  evidence: Evidence,
): LatestEvent {
  const { createdSeconds } = event.subscription;
  const storedSeconds = stored?.reported.createdSeconds ?? -1;
  if (stored === null || createdSeconds > storedSeconds) return newerEvent(stored, event);
  if (createdSeconds === storedSeconds) return eventOfSameSecond(stored, evidence);
  return withOlderEvent(stored, event, evidence);
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

function eventOfSameSecond(stored: LatestEvent, { group, deciding }: Evidence): LatestEvent {
  const reported = reportedBy(lastEventOf(group, deciding));
  const { createdSeconds, status } = reported;
  if (hasOneStatus(group) && status === stored.reported.status) return { ...stored, reported };
  return { reported, sinceSeconds: createdSeconds, otherStatusSeconds: createdSeconds };
}

function withOlderEvent(
  stored: LatestEvent,
  { subscription: { createdSeconds, status } }: SubscriptionEvent,
  { nextSeconds }: Evidence,
): LatestEvent {
  const { sinceSeconds, otherStatusSeconds } = stored;
  if (otherStatusSeconds !== null && createdSeconds <= otherStatusSeconds) return stored;
  if (status === stored.reported.status) {
    return createdSeconds < sinceSeconds ? { ...stored, sinceSeconds: createdSeconds } : stored;
  }
  // All later events have the latest status, so it began with the first of them.
  return {
    ...stored,
    sinceSeconds: createdSeconds < sinceSeconds ? sinceSeconds : (nextSeconds ?? sinceSeconds),
    otherStatusSeconds: createdSeconds,
  };
}
