import { keysOfSameSecond } from '../core/event-key.ts';
import { renderingOf } from '../stripe/event-rendering.ts';
import type { ReceivedEvent } from './received-event.ts';

/** An event in the log or earlier in the batch. Without a body it only matches listed events. */
type KnownEvent = {
  readonly key: string;
  readonly eventId: string | null;
  readonly body?: Uint8Array;
};

/**
 * Gives events the keys under which they are known already. Mostly these are their own. But Stripe
 * renders one event differently for two endpoints with two API versions, and in its list of events:
 * there the id, the type, the subscription and the second identify it. Test fixtures share one id
 * and one API version, so each of them stays an event of its own.
 */
export function recognize<Event extends ReceivedEvent>(
  events: readonly Event[],
  known: readonly KnownEvent[],
): readonly Event[] {
  const keys = new Set<string>();
  const namesakes = new Map<string, KnownEvent[]>();
  function remember(one: KnownEvent): void {
    keys.add(one.key);
    if (one.eventId === null) return;
    const name = nameOf(one);
    namesakes.set(name, [...(namesakes.get(name) ?? []), one]);
  }

  for (const one of known) remember(one);
  return events.map((event) => {
    if (keys.has(event.key)) return event;
    const same = (namesakes.get(nameOf(event)) ?? []).find((one) => isSameEvent(event, one));
    if (same !== undefined) return { ...event, key: same.key };
    remember(event);
    return event;
  });
}

function isSameEvent({ source, body }: ReceivedEvent, known: KnownEvent): boolean {
  // Ids in Stripe's list are Stripe's own.
  if (source === 'list') return true;
  if (known.body === undefined) return false;
  const [one, other] = [renderingOf(body), renderingOf(known.body)];
  return one.type === other.type && one.apiVersion !== other.apiVersion;
}

function nameOf({ key, eventId }: KnownEvent): string {
  return `${keysOfSameSecond(key).low} ${eventId}`;
}
