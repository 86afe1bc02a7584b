import type { ApiCollection } from './collection.ts';

/** An error response. */
export type ApiFault = {
  readonly status: number;
  readonly retryAfterSeconds?: number;
};

/** The objects of the Stripe account, and the behavior of its API. Everything can change while it runs. */
export type FakeStripeAccount = {
  /** Product names by product id. */
  readonly productNames?: Readonly<Record<string, string>>;
  readonly subscriptions?: ApiCollection;
  readonly customers?: ApiCollection;
  readonly events?: ApiCollection;
  readonly webhookEndpoints?: ApiCollection;
  readonly eventDestinations?: ApiCollection;
  /** Answer every request with 503. */
  readonly isDown?: boolean;
  /** Wait this long before each response. */
  readonly delayMs?: number;
  /** The time of the `Date` header, in milliseconds since 1970. Default: the real time. */
  readonly clockMs?: () => number;
  /** Answer 429 beyond this many calls within one second of this clock. */
  readonly rateLimit?: { readonly callsPerSecond: number; readonly nowMs: () => number };
  /** Called with the path and query of each request. A fault that it returns is the response. */
  readonly onCall?: (path: string) => ApiFault | undefined;
};
