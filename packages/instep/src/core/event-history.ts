// The known events of subscriptions, by tie group: what the ordering rule and the latest state look at. A batch
// (ingest/decide.ts) and a replay of a customer's log (event-log/) each fill one.

import { isDatedKey } from './event-key-layout.ts';
import type { ParsedEvent, SubscriptionState } from './subscription-event.ts';
import { planAfter } from './transition.ts';

type Events = readonly ParsedEvent[];

/** The events of one subscription in one second, and what helps to put them in order. */
export type TieGroup = {
  /** Those with `created`, in the order of arrival. */
  readonly events: Events;
  /**
   * The last arrival with an effect, if it is undated: it has no `created`. Such an event belongs to the second of its
   * receipt, and only its arrival shows its place in the order.
   */
  readonly lastUndated: SubscriptionState | null;
  /** Shared by all that ask for this tie group, so that a search for its order is given up only once. */
  readonly search: { isGivenUp: boolean };
};

/** The known events of subscriptions, in tie groups. */
export class EventHistory {
  /** For each subscription, by `idOf`, its events by `createdSeconds`. */
  #subscriptions = new Map<string, Map<number, ParsedEvent[]>>();

  /** By subscription and second. */
  #searches = new Map<string, TieGroup['search']>();

  constructor(events: Iterable<ParsedEvent> = []) {
    for (const event of events) this.add(event);
  }

  /** Adds an event as the last arrival of its tie group. A known event keeps its place. */
  add(event: ParsedEvent): void {
    const { createdSeconds } = event.subscription;
    const id = idOf(event.subscription);
    const bySecond = this.#subscriptions.get(id) ?? new Map<number, ParsedEvent[]>();
    const events = bySecond.get(createdSeconds) ?? [];
    const index = events.findIndex(({ key }) => key === event.key);
    if (index === -1) events.push(event);
    else events[index] = event;
    this.#subscriptions.set(id, bySecond.set(createdSeconds, events));
  }

  /** All known events of a subscription, those of a tie group in the order of arrival. */
  eventsOf(subscription: SubscriptionState): ParsedEvent[] {
    return [...(this.#subscriptions.get(idOf(subscription))?.values() ?? [])].flat();
  }

  /** The tie group of the event that reports this. */
  tieGroupOf(subscription: SubscriptionState): TieGroup {
    const subscriptionKey = idOf(subscription);
    const bySecond = this.#subscriptions.get(subscriptionKey) ?? new Map<number, ParsedEvent[]>();
    const arrivals = bySecond.get(subscription.createdSeconds) ?? [];
    const last = arrivals.findLast(({ subscription }) => planAfter(subscription) !== null);
    const groupKey = `${subscriptionKey} ${subscription.createdSeconds}`;
    const search = this.#searches.get(groupKey) ?? { isGivenUp: false };
    this.#searches.set(groupKey, search);
    return {
      search,
      events: arrivals.filter(isDated),
      lastUndated: last === undefined || isDated(last) ? null : last.subscription,
    };
  }
}

/** Whether Stripe said when the event was created. An undated event has the second of its receipt instead. */
export function isDated({ key }: ParsedEvent): boolean {
  return isDatedKey(key);
}

/** JSON keeps any two pairs of ids distinct. */
function idOf({ customerId, subscriptionId }: SubscriptionState): string {
  return JSON.stringify([customerId, subscriptionId]);
}
