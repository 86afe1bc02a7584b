import type { LoggedEvent } from '../core/logged-event.ts';
import type { SubscriptionChange } from '../core/subscription-event.ts';
import { isHandledType, SNAPSHOT_TYPE } from './handled-event-type.ts';
import {
  BodyNotJson,
  parseChange,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from './parse-event.ts';

type Logged = Pick<LoggedEvent, 'key' | 'eventId' | 'type' | 'receivedAtMs' | 'body'>;

/** What a logged event or look says; `null` for one that was unreadable. */
export function changeOf({ type, body, receivedAtMs }: Logged): SubscriptionChange | null {
  const caused = parseChange(new TextDecoder().decode(body), receivedAtMs);
  return caused && { ...caused, isSnapshot: type === SNAPSHOT_TYPE };
}

/** A logged event as it came; `null` for one that was unreadable, or is a look of our own. */
export function readableEventOf(logged: Logged): ReadableEvent | null {
  const { key, eventId, type } = logged;
  const caused = changeOf(logged);
  if (caused === null || !isHandledType(type)) return null;
  return { kind: 'readable', key, eventId, type, ...caused };
}

/**
 * Reads an event anew that was unreadable when it came: this program may know its shape. `null`
 * when it is none that goes through the one door.
 */
export function parseAgain(logged: Logged): ReadableEvent | UnreadableEvent | null {
  const { key, receivedAtMs, body } = logged;
  // Without an id it is the same event each time that it is read.
  const receipt = { receivedAtMs, nonce: () => key };
  try {
    const event = parseEvent(new TextDecoder().decode(body), receipt);
    return event.kind === 'readable' || event.kind === 'unreadable' ? event : null;
  } catch (error) {
    // It was JSON when it came: somebody else has written it since.
    if (error instanceof BodyNotJson) return null;
    throw error;
  }
}
