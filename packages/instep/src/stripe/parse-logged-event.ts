import type { LoggedEvent, SubscriptionChange } from '../core/subscription-event.ts';
import { isHandledType } from './handled-event-type.ts';
import {
  BodyNotJson,
  parseChange,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from './parse-event.ts';

/** The content of a logged event or snapshot; `null` when it was unreadable on arrival. */
export function changeOf(logged: LoggedEvent): SubscriptionChange | null {
  const { key, outcome, body, receivedAtMs } = logged;
  if (outcome === 'unreadable') return null;
  const change = parseChange(new TextDecoder().decode(body), receivedAtMs);
  return change && { ...change, key };
}

/** A logged event as it arrived; `null` when it was unreadable or is a snapshot. */
export function readableEventOf(logged: LoggedEvent): ReadableEvent | null {
  const { eventId, type } = logged;
  const change = changeOf(logged);
  if (change === null || !isHandledType(type)) return null;
  return { kind: 'readable', eventId, type, ...change };
}

/**
 * Parses an event that was unreadable on arrival, because this version possibly knows its shape. `null` if
 * the ingest pipeline does not take it.
 */
export function parseAgain(logged: LoggedEvent): ReadableEvent | UnreadableEvent | null {
  const { key, receivedAtMs, body } = logged;
  // An event without an id keeps its key however often it is parsed.
  const receipt = { receivedAtMs, nonce: () => key };
  try {
    const event = parseEvent(new TextDecoder().decode(body), receipt);
    return event.kind === 'readable' || event.kind === 'unreadable' ? event : null;
  } catch (error) {
    // It was JSON on arrival, so something other than Instep has changed it.
    if (error instanceof BodyNotJson) return null;
    throw error;
  }
}
