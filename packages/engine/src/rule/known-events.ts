// The events of the log that the fold looks at besides the state. They are needed for an event that is not newer than
// all that the state knows of its subscription, which few are: it can share a second with others, or be a duplicate.

import type { CustomerState } from './customer-state.ts';
import { type EventSubscription, isDated, type SubscriptionEvent } from './event.ts';
import { isSameEvent } from './same-event.ts';

/** What the log has to be asked for. Both seconds belong to it. */
export type NeededEvents = {
  readonly customerId: string;
  readonly subscriptionId: string | null;
  readonly fromSeconds: number;
  readonly toSeconds: number;
  /** Only the key recognizes an event without `created`: its second is that of its receipt. */
  readonly key: string;
};

/** The last second of the year 9999. */
const END_OF_TIME = 253_402_300_799;

/**
 * The events of the log that this event's fold needs, and the next one of its subscription after those; `null`: none,
 * because the event is newer than all known ones.
 */
export function eventsNeededFor(
  state: CustomerState,
  event: SubscriptionEvent,
): NeededEvents | null {
  const { key, subscription } = event;
  const { customerId, subscriptionId, createdSeconds } = subscription;
  const asked = { key, customerId, subscriptionId };
  const known = state.subscriptions.get(subscriptionId);
  if (known === undefined && state.hasDropped) {
    return { ...asked, fromSeconds: 0, toSeconds: END_OF_TIME };
  }
  const isNewest = known === undefined || createdSeconds > known.latest.reported.createdSeconds;
  if (isNewest && isDated(event)) return null;
  return { ...asked, fromSeconds: createdSeconds, toSeconds: createdSeconds };
}

/** Known events of a customer, those of one second in the order of their arrival. */
export class KnownEvents {
  /** By subscription, and by `createdSeconds`. */
  readonly #subscriptions = new Map<string | null, Map<number, readonly SubscriptionEvent[]>>();
  readonly #keys = new Map<string, SubscriptionEvent>();

  constructor(events: Iterable<SubscriptionEvent> = []) {
    for (const event of events) this.add(event);
  }

  /** Adds an event as the last arrival. A known event keeps its place. */
  add(event: SubscriptionEvent): void {
    if (this.#keys.has(event.key)) return;
    this.#keys.set(event.key, event);
    const { subscriptionId, createdSeconds } = event.subscription;
    const bySecond = this.#bySecond(subscriptionId);
    bySecond.set(createdSeconds, [...this.inSecondOf(event), event]);
    this.#subscriptions.set(subscriptionId, bySecond);
  }

  all(): Iterable<SubscriptionEvent> {
    return this.#keys.values();
  }

  /** The same event, which can have arrived in another API version. */
  find(event: SubscriptionEvent): SubscriptionEvent | undefined {
    const withSameKey = this.#keys.get(event.key);
    return withSameKey ?? this.inSecondOf(event).find((earlier) => isSameEvent(event, earlier));
  }

  /** The known events of the subscription and second of this one, in the order of arrival. */
  inSecondOf({
    subscription,
  }: {
    readonly subscription: EventSubscription;
  }): readonly SubscriptionEvent[] {
    const { subscriptionId, createdSeconds } = subscription;
    return this.#subscriptions.get(subscriptionId)?.get(createdSeconds) ?? [];
  }

  /** All known events of a subscription, in the order of their seconds. */
  ofSubscription(subscriptionId: string | null): readonly SubscriptionEvent[] {
    const bySecond = [...this.#bySecond(subscriptionId)];
    return bySecond.sort(([a], [b]) => a - b).flatMap(([, events]) => events);
  }

  /** The second of the next known event of this subscription after this second; `null`: there is none. */
  nextSecondsAfter({ subscriptionId, createdSeconds }: EventSubscription): number | null {
    const isLater = (seconds: number) => seconds > createdSeconds;
    const later = [...this.#bySecond(subscriptionId).keys()].filter(isLater);
    return later.length === 0 ? null : Math.min(...later);
  }

  #bySecond(subscriptionId: string | null): Map<number, readonly SubscriptionEvent[]> {
    return this.#subscriptions.get(subscriptionId) ?? new Map();
  }
}
