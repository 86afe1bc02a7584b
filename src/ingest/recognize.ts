import { keysOfSameSecond } from '../core/event-key.ts';
import { listedEventKey } from '../stripe/event-key.ts';
import type { ReceivedEvent } from './received-event.ts';

/** What the log holds, or what came before in the same batch. */
type KnownKey = { readonly key: string; readonly eventId: string | null };

/**
 * Gives events the keys under which the log has them already. Mostly those are their own. But an
 * event that Stripe lists and the same one that it delivers may be in the words of two API versions:
 * there the id says that they are one. Ids that were only delivered say nothing, since fixtures share
 * them.
 */
export function recognize<Event extends ReceivedEvent>(
  events: readonly Event[],
  known: readonly KnownKey[],
): readonly Event[] {
  const keys = new Set(known.map(({ key }) => key));
  /** Of an id within a second of a subscription, the key that came first. */
  const first = new Map<string, string>();
  function note({ key, eventId }: KnownKey): void {
    const place = placeOf(key, eventId);
    if (!first.has(place)) first.set(place, key);
    keys.add(key);
  }

  for (const one of known) if (one.eventId !== null) note(one);
  return events.map((event) => {
    const key = keys.has(event.key) ? event.key : knownKeyOf(event);
    if (event.eventId !== null) note({ key, eventId: event.eventId });
    return key === event.key ? event : { ...event, key };
  });

  function knownKeyOf(event: Event): string {
    if (event.kind !== 'readable' || event.eventId === null) return event.key;
    const namesake = first.get(placeOf(event.key, event.eventId));
    if (namesake === undefined || event.source === 'list') return namesake ?? event.key;
    const { eventId, type, subscription } = event;
    const listed = listedEventKey({ eventId, type, ...subscription });
    return keys.has(listed) ? listed : event.key;
  }
}

function placeOf(key: string, eventId: string | null): string {
  return `${keysOfSameSecond(key).low} ${eventId}`;
}
