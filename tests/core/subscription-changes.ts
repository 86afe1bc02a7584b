import type { JsonObject } from 'instep/src/core/json.ts';
import type { ParsedEvent, SubscriptionState } from 'instep/src/core/subscription-event.ts';
import { type DecidingEvent, lastEventWithEffect } from 'instep/src/core/tie-group.ts';

/** An event, for tests that change some of its fields. */
export const example: SubscriptionState = {
  customerId: 'cus_1',
  subscriptionId: 'sub_1',
  status: 'active',
  productId: 'prod_1',
  planName: 'Pro',
  createdSeconds: 10,
};

let count = 0;

/** An event of one second: the subscription after it, and the values that it replaced. */
export function event(
  after: JsonObject,
  previousAttributes: JsonObject | null = null,
): ParsedEvent {
  const textOf = (name: string) => (typeof after[name] === 'string' ? after[name] : null);
  const subscription: SubscriptionState = {
    ...example,
    status: String(after.status),
    productId: textOf('product'),
    planName: textOf('name'),
  };
  count += 1;
  return {
    key: `key_${count}`,
    subscription,
    object: after,
    previousAttributes,
    isDeletion: false,
    isSnapshot: false,
    seenKeys: null,
  };
}

export function deletion(after: JsonObject): ParsedEvent {
  return { ...event(after), isDeletion: true };
}

/** A snapshot from Stripe's API after the second is over. */
export function snapshot(after: JsonObject): ParsedEvent {
  return { ...event(after), isSnapshot: true };
}

/** Changes within one second: each event changes some members and names the replaced values. */
export function changes(states: readonly JsonObject[]): ParsedEvent[] {
  return states.map((after, index) => {
    const before = states[index - 1];
    if (before === undefined) return event(after, { status: 'incomplete' });
    const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
    return event(after, Object.fromEntries(changed.map((name) => [name, before[name] ?? null])));
  });
}

/** The last event of a second. */
export function lastOf(events: readonly ParsedEvent[]): DecidingEvent | null {
  return lastEventWithEffect({ events, lastUndated: null, search: { isGivenUp: false } });
}

export function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}
