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
