// An event reports the state of its subscription. In this folder,
// - the *newest* event is the one that Stripe created last; of several in one second, the last of their tie group;
// - the *last* event is the one at the end of an order: that of a tie group, or that of arrival (the last arrival);
// - the *deciding* event of a subscription is its newest one with an effect (tie-group.ts). A plan follows from it;
// - the *latest state* of a subscription is what its newest event of all says (latest-state.ts). Access follows from it:
//   a payment that is past due has no effect on the plan, but can end the access.

import type { JsonObject } from './json.ts';

/**
 * A subscription as an event reports it: the fields that the plan and the ordering rule depend on. A value that the
 * event left out is `null`, never a guess.
 */
export type SubscriptionState = {
  readonly customerId: string;
  readonly subscriptionId: string | null;
  /** As Stripe writes it, including statuses that are new. */
  readonly status: string;
  readonly productId: string | null;
  readonly planName: string | null;
  /**
   * When the event was created, by Stripe's clock, in whole seconds since 1970; the time of receipt if it has no `created`.
   */
  readonly createdSeconds: number;
};

const FIELDS: readonly (keyof SubscriptionState)[] = [
  'customerId',
  'subscriptionId',
  'status',
  'productId',
  'planName',
  'createdSeconds',
];

/** Whether two events report the same, even if one of them was read from the database. */
export function isSameState(a: SubscriptionState | null, b: SubscriptionState | null): boolean {
  return FIELDS.every((field) => a?.[field] === b?.[field]);
}

/** An event after parsing: the subscription that it reports, and the evidence for its place among other events. */
export type ParsedEvent = {
  /** The key of the event in the log. */
  readonly key: string;
  readonly subscription: SubscriptionState;
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

export const LOGGED_OUTCOMES = ['applied', 'unchanged', 'stale', 'parked', 'unreadable'] as const;

/** The outcome of an event in the log. A duplicate has no row of its own: it counts as a delivery. */
export type LoggedOutcome = (typeof LOGGED_OUTCOMES)[number];

/** An event as it is read from the log. */
export type LoggedEvent = {
  /** Its place in the order of arrival. */
  readonly position: number;
  readonly key: string;
  readonly eventId: string | null;
  readonly type: string;
  readonly outcome: LoggedOutcome;
  readonly receivedAtMs: number;
  readonly body: Uint8Array;
};
