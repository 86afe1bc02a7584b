import { foldAll, type JsonObject, reportedBy, type SubscriptionEvent } from 'instep-engine/rule';
import { eventOf } from './events.ts';

/** An event of one second: the subscription after it, and the values that it replaced. */
export function event(
  after: JsonObject,
  previousAttributes: JsonObject | null = null,
): SubscriptionEvent {
  const textOf = (name: string) => (typeof after[name] === 'string' ? after[name] : null);
  return eventOf({
    status: String(after.status),
    productId: textOf('product'),
    planName: textOf('name'),
    object: after,
    previousAttributes,
  });
}

export function deletion(after: JsonObject): SubscriptionEvent {
  return { ...event(after), isDeletion: true };
}

/** A snapshot from Stripe's API after the second is over. */
export function snapshot(after: JsonObject): SubscriptionEvent {
  return { ...event(after), isSnapshot: true };
}

/** An event without `created`, received in this second. */
export function undated(after: JsonObject): SubscriptionEvent {
  const received = event(after);
  return { ...received, key: received.key.replace(/^.{8}/, '00000000') };
}

/** Changes within one second: each event changes some members and names the replaced values. */
export function changes(states: readonly JsonObject[]): SubscriptionEvent[] {
  return states.map((after, index) => {
    const before = states[index - 1];
    if (before === undefined) return event(after, { status: 'incomplete' });
    const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
    return event(after, Object.fromEntries(changed.map((name) => [name, before[name] ?? null])));
  });
}

/** What decides after the events of one second, which arrived in this order. */
export function decidingAfter(arrived: readonly SubscriptionEvent[]) {
  return foldAll(arrived).subscriptions.get('sub_1')?.deciding ?? null;
}

/** This event decides for certain. */
export const known = (event: SubscriptionEvent | undefined) => deciding(event, false);

/** This event decides as long as nothing shows which came last. */
export const ambiguous = (event: SubscriptionEvent | undefined) => deciding(event, true);

function deciding(event: SubscriptionEvent | undefined, isAmbiguous: boolean) {
  return event && { reported: reportedBy(event), isAmbiguous };
}
