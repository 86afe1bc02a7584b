import type { Collection } from './collection.ts';

/** An answer that is not what was asked for. */
export type ApiFault = {
  readonly status: number;
  readonly retryAfterSeconds?: number;
};

/** What Stripe's account holds, and how its API fares. All of it may be changed meanwhile. */
export type StripeAccount = {
  /** Names by the ids of products. */
  readonly productNames: Readonly<Record<string, string>>;
  readonly subscriptions?: Collection;
  readonly customers?: Collection;
  readonly events?: Collection;
  readonly webhookEndpoints?: Collection;
  /** While it is, every answer is 503. */
  readonly isDown?: boolean;
  /** How long each answer takes. */
  readonly delayMs?: number;
  /** What its clock says, in milliseconds since 1970, if not what ours says: the header `Date`. */
  readonly clockMs?: () => number;
  /** More calls within one second of this clock are answered 429. */
  readonly rateLimit?: { readonly callsPerSecond: number; readonly nowMs: () => number };
  /** Heard before each call is answered, with its path and query; may answer in our place. */
  readonly onCall?: (path: string) => ApiFault | undefined;
};
