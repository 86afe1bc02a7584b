/** A subscription as Stripe's list shows it. Times are in whole seconds since 1970, by its clock. */
export type ListedSubscription = {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string | null;
  /** As the list told it; mostly it tells none, and the product's name counts. */
  readonly planName: string | null;
  readonly beganSeconds: number | null;
  /** When it was over for good; `null` while it is not. */
  readonly endedSeconds: number | null;
  /** All that happened to it until then is in what is shown. */
  readonly asOfSeconds: number;
};
