import type { JsonObject } from './json.ts';

// An event reports the state of its subscription. Two events of each subscription count: the *deciding* one, which is
// the newest with an effect (tie-group.ts), and the *latest* one, the newest of all (latest-state.ts). The newest is the
// one that was created last; within one second, the order of its tie group tells which that is.

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
  /** Stripe's clock, in whole seconds since 1970; the time of receipt if the event has none. */
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
export function isSameState(
  one: SubscriptionState | null,
  other: SubscriptionState | null,
): boolean {
  return FIELDS.every((field) => one?.[field] === other?.[field]);
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
