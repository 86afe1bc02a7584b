import type { JsonObject } from './json.ts';

/**
 * What one event says of one subscription: all that the rule needs, and nothing of the wire.
 * Where the event left something out, it is `null` here, never a guess.
 */
export type SubscriptionEvent = {
  readonly customerId: string;
  readonly subscriptionId: string | null;
  /** As the provider writes it; statuses that nobody has heard of yet included. */
  readonly status: string;
  readonly productId: string | null;
  readonly planName: string | null;
  /** The provider's clock, in whole seconds since 1970; the time of receipt when it named none. */
  readonly createdSeconds: number;
};

/** An event with what it tells of its cause: the subscription after it, and what it replaced. */
export type SubscriptionChange = {
  /** The key of the event in the log. */
  readonly key: string;
  readonly subscription: SubscriptionEvent;
  readonly after: JsonObject;
  /** The event's `previous_attributes`; `null` when it has none. */
  readonly previousAttributes: JsonObject | null;
  /** Whether it tells of the subscription's end, as Stripe does without saying what it replaced. */
  readonly isDeletion: boolean;
  /** Whether it is Stripe's own word on the subscription, fetched after the second was over. */
  readonly isSnapshot: boolean;
};
