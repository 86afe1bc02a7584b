import type { CausedEvent, JsonObject } from '../../src/core/same-second-order.ts';
import type { SubscriptionEvent } from '../../src/core/subscription-event.ts';

/** An event of one second: the subscription after it, and what it replaced. */
export function event(after: JsonObject, replaced: JsonObject | null = null): CausedEvent {
  const textOf = (name: string) => (typeof after[name] === 'string' ? after[name] : null);
  const subscription: SubscriptionEvent = {
    customerId: 'cus_1',
    subscriptionId: 'sub_1',
    status: String(after.status),
    productId: textOf('product'),
    planName: textOf('name'),
    createdSeconds: 10,
  };
  return { subscription, after, replaced, isDeletion: false, isLook: false };
}

export function deletion(after: JsonObject): CausedEvent {
  return { ...event(after), isDeletion: true };
}

/** What Stripe's API says when the second is over. */
export function look(after: JsonObject): CausedEvent {
  return { ...event(after), isLook: true };
}

/** A life within one second: every event changes some of the members, and says what it replaced. */
export function life(states: readonly JsonObject[]): CausedEvent[] {
  return states.map((after, index) => {
    const before = states[index - 1];
    if (before === undefined) return event(after, { status: 'incomplete' });
    const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
    return event(after, Object.fromEntries(changed.map((name) => [name, before[name] ?? null])));
  });
}

export function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}
