import type { JsonObject } from './json.ts';

/** A subscription in Stripe's list. Times are in whole seconds since 1970, by Stripe's clock. */
export type ListedSubscription = {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  readonly productId: string | null;
  /** Stripe's list usually has no name; then the product's name is used. */
  readonly planName: string | null;
  readonly beganSeconds: number | null;
  /** When it ended; `null` while it has not. */
  readonly endedSeconds: number | null;
  /** Its period, price and quantity, as Stripe names them. No rule uses them. */
  readonly details: JsonObject;
  /** The list includes everything that happened to it up to this time. */
  readonly asOfSeconds: number;
};
