import type { CausedEvent } from '../subscriptions/second.ts';
import { isHandledType, LOOK_TYPE } from './handled-event-type.ts';
import { parseCausedEvent, type ReadableEvent } from './parse-event.ts';

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
  return caused && { ...caused, isLook: type === LOOK_TYPE };
}

/** A logged event as it came; `null` for one that was unreadable, or is a look of our own. */
export function readableEventOf(logged: LoggedEvent): ReadableEvent | null {
  const { key, eventId, type } = logged;
  const caused = causedEventOf(logged);
  if (caused === null || !isHandledType(type)) return null;
  return { kind: 'readable', key, eventId, type, ...caused };
}
