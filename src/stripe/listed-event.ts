import type { Json } from '../core/json.ts';
import { listedEventKey } from './event-key.ts';
import {
  parseEvent,
  type ReadableEvent,
  type Receipt,
  type UnreadableEvent,
} from './parse-event.ts';

/** An event as Stripe's list tells it. */
export type ListedEvent = {
  readonly event: ReadableEvent | UnreadableEvent;
  readonly body: Uint8Array;
};

/** Understands an event of Stripe's list; `null` for one that we do not handle. */
export function readListedEvent(listed: Json, receipt: Receipt): ListedEvent | null {
  const text = JSON.stringify(listed);
  const event = parseEvent(text, receipt);
  if (event.kind === 'unhandled' || event.kind === 'shapeless') return null;
  const body = Buffer.from(text);
  const { eventId, type } = event;
  if (eventId === null) return { event, body };
  const { createdSeconds, subscriptionId } =
    event.kind === 'readable' ? event.subscription : NOWHERE;
  const key = listedEventKey({ eventId, type, createdSeconds, subscriptionId });
  return { event: { ...event, key }, body };
}

/** Where an event is that cannot be read. */
const NOWHERE = { createdSeconds: null, subscriptionId: null };
