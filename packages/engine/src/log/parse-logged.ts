// Parses events of the log, which arrived as Stripe's.

import type { SubscriptionEvent } from '../rule/event.ts';
import {
  BodyNotJson,
  isHandledType,
  parseBody,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from '../stripe/parse-event.ts';
import type { LoggedEvent } from './log-event.ts';

/** The content of a logged event or snapshot; `null` when it was unreadable on arrival. */
export function parseLogged(logged: Omit<LoggedEvent, 'position'>): SubscriptionEvent | null {
  const { key, eventId, type, outcome, body, receivedAtMs } = logged;
  if (outcome === 'unreadable') return null;
  const content = parseBody(new TextDecoder().decode(body), receivedAtMs);
  return content && { ...content, key, eventId, type };
}

/** A logged event as it arrived; `null` when it was unreadable or is a snapshot. */
export function readableEventOf(logged: LoggedEvent): ReadableEvent | null {
  const event = parseLogged(logged);
  if (event === null || !isHandledType(event.type)) return null;
  return { kind: 'readable', ...event, type: event.type };
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
