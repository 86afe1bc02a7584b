// Recognizes an event that arrives again with other content.

import { isDated, type SubscriptionEvent } from './event.ts';

/**
 * Whether two events of one subscription and second are the same, although their keys differ. Stripe renders one event
 * differently for endpoints with different API versions, and in its list of events, and members can have any order.
 * Then the id and the type identify it. Sample events of a test can share an id, such as `evt_00000000000000`, but then
 * also the API version and not the content, so each of them remains a separate event.
 */
export function isSameEvent(one: SubscriptionEvent, other: SubscriptionEvent): boolean {
  if (one.eventId === null || one.eventId !== other.eventId || one.type !== other.type)
    return false;
  if (!isDated(one) || !isDated(other)) return false;
  if (one.apiVersion !== other.apiVersion) return true;
  const content = contentOf(one);
  return content !== null && content === contentOf(other);
}

/** The content as JSON, with the members of each object in alphabetical order; `null`: it is nested too deeply. */
function contentOf({ object, previousAttributes }: SubscriptionEvent): string | null {
  try {
    return JSON.stringify([object, previousAttributes], inOrder);
  } catch {
    return null;
  }
}

/** For `JSON.stringify`. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = new Map(Object.entries(value));
  return Object.fromEntries([...members.keys()].sort().map((name) => [name, members.get(name)]));
}
