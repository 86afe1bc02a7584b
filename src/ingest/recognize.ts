import { keysOfSameSecond } from '../core/event-key-layout.ts';
import { renderingOf } from '../stripe/event-rendering.ts';
import type { ReceivedEvent } from './received-event.ts';

/** An event in the log or earlier in the batch. Without a body it only matches listed events. */
type EarlierEvent = {
  readonly key: string;
  readonly eventId: string | null;
  readonly body?: Uint8Array;
};

/**
 * Gives events the keys under which the log has them. Mostly these are their own. But Stripe
 * renders one event differently for two endpoints with two API versions, and in its list of events:
 * there the id, the type, the subscription and the second identify it. Test fixtures share one id
 * and one API version, so each of them stays an event of its own.
 */
export function recognize<Event extends ReceivedEvent>(
  events: readonly Event[],
  logged: readonly EarlierEvent[],
): readonly Event[] {
  const keys = new Set<string>();
  const withSameId = new Map<string, EarlierEvent[]>();
  function remember(one: EarlierEvent): void {
    keys.add(one.key);
    if (one.eventId === null) return;
    const name = idInSecond(one);
    withSameId.set(name, [...(withSameId.get(name) ?? []), one]);
  }

  for (const one of logged) remember(one);
  return events.map((event) => {
    if (keys.has(event.key)) return event;
    const same = (withSameId.get(idInSecond(event)) ?? []).find((one) => isSameEvent(event, one));
    if (same !== undefined) return { ...event, key: same.key };
    remember(event);
    return event;
  });
}

/** Whether it is the same event as one with its id, subscription and second. */
function isSameEvent({ source, body }: ReceivedEvent, earlier: EarlierEvent): boolean {
  // Ids in Stripe's list are Stripe's own.
  if (source === 'list') return true;
  if (earlier.body === undefined) return false;
  const [one, other] = [renderingOf(body), renderingOf(earlier.body)];
  return one.type === other.type && one.apiVersion !== other.apiVersion;
}

/** The subscription and second of an event, and its id. */
function idInSecond({ key, eventId }: EarlierEvent): string {
  return `${keysOfSameSecond(key).low} ${eventId}`;
}
