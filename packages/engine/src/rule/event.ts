// An event reports the state of its subscription. In this folder,
// - the *newest* event is the one that Stripe created last; of several in one second, the last of their tie group;
// - the *last* event is the one at the end of an order: that of a tie group, or that of arrival (the last arrival);
// - the *deciding* event of a subscription is its newest one with an effect (tie-group.ts). A plan follows from it;
// - the *latest* event of a subscription is its newest one of all (latest-event.ts). Access follows from it: a payment
//   that is past due has no effect on the plan, but can end the access.

import { isDatedKey } from './event-key-layout.ts';
import type { JsonObject } from './json.ts';

/** A subscription as an event reports it. A value that the event left out is `null`, never a guess. */
export type EventSubscription = {
  readonly customerId: string;
  readonly subscriptionId: string | null;
  /** As Stripe writes it, including statuses that are new. */
  readonly status: string;
  readonly productId: string | null;
  readonly planName: string | null;
  /** By Stripe's clock, in whole seconds since 1970; the time of receipt if the event has no `created`. */
  readonly createdSeconds: number;
};

/** An event after parsing: the subscription that it reports, and the evidence for its place among other events. */
export type SubscriptionEvent = {
  /** The key of the event in the log (event-key-layout.ts). */
  readonly key: string;
  /** Its id at Stripe, if it has one. */
  readonly eventId: string | null;
  readonly type: string;
  /** The API version of its structure; each endpoint has its own. */
  readonly apiVersion: string | null;
  readonly subscription: EventSubscription;
  /** The event's `data.object`: the whole subscription as Stripe sent it. */
  readonly object: JsonObject;
  /** The event's `previous_attributes`; `null` when it has none. */
  readonly previousAttributes: JsonObject | null;
  /** Whether it is a `customer.subscription.deleted` event. Stripe then does not say what it replaced. */
  readonly isDeletion: boolean;
  /** Whether it is a snapshot from Stripe's API, requested after the second of `createdSeconds` was over. */
  readonly isSnapshot: boolean;
  /**
   * For a snapshot, the keys of its tie group's events that were in the log when it was requested; `null` when it
   * includes every event of the group.
   */
  readonly seenKeys: ReadonlySet<string> | null;
};

/** Whether Stripe said when the event was created. An undated event has the second of its receipt instead. */
export function isDated({ key }: SubscriptionEvent): boolean {
  return isDatedKey(key);
}

/**
 * The outcome of an event. `applied`: it now decides the team's plan, or showed which other event does. `stale`: a newer
 * event takes precedence. `unchanged`: it has no effect, or decides only for a subscription that is not the best.
 * `duplicate`: it is known already.
 */
export type Outcome = 'applied' | 'stale' | 'unchanged' | 'duplicate';
