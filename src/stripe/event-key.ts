import { hash } from 'node:crypto';

/** What makes an event the same event again: its id and its content (the design's rule 2). */
export type EventIdentity = {
  readonly eventId: string | null;
  readonly type: string;
  readonly createdSeconds: number | null;
  readonly subscriptionId: string | null;
  /** The event's `data` member. What differs from one delivery to the next stands outside it. */
  readonly data: unknown;
};

/**
 * The key of an event in the log, as a UUID's text:
 *
 *     4 bytes `created` | 4 bytes of the subscription's hash | 8 bytes of the hash of id and content
 *
 * One index of 16 bytes an event thus serves three needs: it finds duplicates, it finds the events
 * of one subscription within one second, and it grows at its end, since events come nearly in the
 * order of time. `nonce` keeps events without an id apart: they cannot be duplicates.
 *
 * @throws RangeError when the content is nested too deeply to be written as JSON
 */
export function eventKey(identity: EventIdentity, nonce: () => string): string {
  const { eventId, type, createdSeconds, subscriptionId, data } = identity;
  const content = JSON.stringify([eventId ?? nonce(), type, createdSeconds, data]);
  const contentHash = sha256(content);
  const second = secondOf(createdSeconds ?? 0, subscriptionId);
  return `${second}-${contentHash.slice(0, 4)}-${contentHash.slice(4, 16)}`;
}

/**
 * The key of an event that Stripe's list told. There ids are Stripe's own, and say all: the content
 * may be in another API version's words than that of the same event when it is delivered.
 */
export function listedEventKey(
  identity: Omit<EventIdentity, 'data' | 'eventId'> & { readonly eventId: string },
): string {
  return eventKey({ ...identity, data: null }, () => identity.eventId);
}

export type KeyRange = { readonly low: string; readonly high: string };

/** The keys that events of the same subscription and second can have. */
export function keysOfSameSecond(key: string): KeyRange {
  // Without `created` there is no second: such an event stands for itself.
  if (key.startsWith('00000000')) return { low: key, high: key };
  return rangeOf(key.slice(0, SECOND_LENGTH));
}

/** The keys that events of this subscription and second can have. */
export function keysOfSecond(createdSeconds: number, subscriptionId: string): KeyRange {
  return rangeOf(secondOf(createdSeconds, subscriptionId));
}

const SECOND_LENGTH = 'cccccccc-ssss-ssss'.length;

/** How the key of an event of this subscription and second begins. */
function secondOf(createdSeconds: number, subscriptionId: string | null): string {
  const created = (createdSeconds % 2 ** 32).toString(16).padStart(8, '0');
  const idHash = sha256(subscriptionId ?? '');
  return `${created}-${idHash.slice(0, 4)}-${idHash.slice(4, 8)}`;
}

function rangeOf(second: string): KeyRange {
  return { low: `${second}-0000-000000000000`, high: `${second}-ffff-ffffffffffff` };
}

function sha256(text: string): string {
  return hash('sha256', text);
}
