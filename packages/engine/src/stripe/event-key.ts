// What makes two events the same one: the key under which an event is logged (the engine's rule/event-key-layout.ts has its layout).

import { hash } from 'node:crypto';
import { formatEventKey, type KeyRange, tieGroupRangeOf } from '../rule/event-key-layout.ts';

/** The identity of an event: its id and its content (docs/contract.md, section 6, ordering rule 2). */
type EventIdentity = {
  eventId: string | null;
  type: string;
  createdSeconds: number | null;
  subscriptionId: string | null;
  /** The event's `data` member, which is the same in every delivery, unlike other members. */
  data: unknown;
};

/**
 * The key of an event. `nonce` makes every event without an id unique, because it can't be recognized as a
 * duplicate.
 *
 * @throws RangeError when the content is nested too deeply to be written as JSON
 */
export function eventKey(identity: EventIdentity, nonce: () => string): string {
  const { eventId, type, createdSeconds, subscriptionId, data } = identity;
  const content = JSON.stringify([eventId ?? nonce(), type, createdSeconds, data]);
  return formatEventKey({
    createdSeconds,
    subscriptionHash: hash('sha256', subscriptionId ?? ''),
    contentHash: hash('sha256', content),
  });
}

/** The keys that events of this tie group can have. */
export function tieGroupRangeAt(createdSeconds: number, subscriptionId: string): KeyRange {
  const subscriptionHash = hash('sha256', subscriptionId);
  const anyContent = '0'.repeat(16);
  return tieGroupRangeOf(
    formatEventKey({ createdSeconds, subscriptionHash, contentHash: anyContent }),
  );
}
