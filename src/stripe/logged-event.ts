import type { CausedEvent } from '../core/same-second-order.ts';
import { isHandledType, SNAPSHOT_TYPE } from './handled-event-type.ts';
import {
  BodyNotJson,
  parseCausedEvent,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from './parse-event.ts';

/** An event as the log keeps it. */
export type LoggedEvent = {
  readonly key: string;
  readonly eventId: string | null;
  readonly type: string;
  readonly receivedAtMs: number;
  readonly body: Uint8Array;
};

/** What a logged event or look says; `null` for one that was unreadable. */
export function causedEventOf({ type, body, receivedAtMs }: LoggedEvent): CausedEvent | null {
  const caused = parseCausedEvent(new TextDecoder().decode(body), receivedAtMs);
  return caused && { ...caused, isLook: type === SNAPSHOT_TYPE };
}

/** A logged event as it came; `null` for one that was unreadable, or is a look of our own. */
export function readableEventOf(logged: LoggedEvent): ReadableEvent | null {
  const { key, eventId, type } = logged;
  const caused = causedEventOf(logged);
  if (caused === null || !isHandledType(type)) return null;
  return { kind: 'readable', key, eventId, type, ...caused };
}

/**
 * Reads an event anew that was unreadable when it came: this program may know its shape. `null`
 * when it is none that goes through the one door.
 */
export function readAnew(logged: LoggedEvent): ReadableEvent | UnreadableEvent | null {
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
