import type { JsonObject } from './json.ts';

/** A subscription in Stripe's list. Times are in whole seconds since 1970, by Stripe's clock. */
export type ListedSubscription = {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string | null;
  /** From the list, which mostly has none. Then the product's name counts. */
  readonly planName: string | null;
  readonly beganSeconds: number | null;
  /** When it ended; `null` while it has not. */
  readonly endedSeconds: number | null;
  /** Its period, price and quantity, as Stripe names them: no rule needs them. */
  readonly details: JsonObject;
  /** The list shows everything that happened to it until then. */
  readonly asOfSeconds: number;
};
