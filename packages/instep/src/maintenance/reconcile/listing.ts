import type { StripeApi } from '../../stripe/api.ts';
import { StripeApiFailed } from '../../stripe/api-failure.ts';
import {
  type ListedSubscription,
  parseListedSubscription,
} from '../../stripe/subscription-snapshot.ts';
import { type ListPage, lastShownSecond, readPages } from '../stripe-pages.ts';
import type { ReconcileServices } from './progress.ts';

type Listing = {
  readonly subscriptions: readonly ListedSubscription[];
  /** How many subscriptions could not be read. */
  readonly unreadable: number;
  /** The next page begins after the subscription with this id; `null` after the last page. */
  readonly cursor: string | null;
};

type ListingOptions = {
  readonly listSubscriptions: StripeApi['listSubscriptions'];
  /** Lists this customer's subscriptions only. */
  readonly customerId?: string;
  readonly cursor: string | null;
  readonly now: () => number;
  readonly signal: AbortSignal;
};

/** Reads Stripe's list of subscriptions page by page. @throws Stopped, DeadlineExceeded or StripeApiFailed */
export async function* readListings(options: ListingOptions): AsyncGenerator<Listing> {
  const { listSubscriptions, customerId, cursor, now, signal } = options;
  const list = (cursor: string | null, signal: AbortSignal) =>
    listSubscriptions({ customerId, cursor }, signal);
  for await (const page of readPages({ list, cursor, signal })) yield readListing(page, now());
}

function readListing(page: ListPage, nowMs: number): Listing {
  const { objects, cursor } = page;
  const asOfSeconds = lastShownSecond(page, nowMs);
  const subscriptions = new Map<string, ListedSubscription>();
  let unreadable = 0;
  for (const object of objects) {
    const subscription = parseListedSubscription(object, asOfSeconds);
    if (subscription === null) unreadable += 1;
    else subscriptions.set(subscription.subscriptionId, subscription);
  }
  return { subscriptions: [...subscriptions.values()], unreadable, cursor };
}

/** All subscriptions of a customer; `null` when Stripe does not know the customer. */
export async function listCustomer(
  customerId: string,
  { api: { listSubscriptions }, now }: Pick<ReconcileServices, 'api' | 'now'>,
  signal: AbortSignal,
): Promise<Pick<Listing, 'subscriptions' | 'unreadable'> | null> {
  const subscriptions = new Map<string, ListedSubscription>();
  let unreadable = 0;
  try {
    const options = { listSubscriptions, customerId, cursor: null, now, signal };
    for await (const page of readListings(options)) {
      for (const one of page.subscriptions) subscriptions.set(one.subscriptionId, one);
      unreadable += page.unreadable;
    }
  } catch (error) {
    if (error instanceof StripeApiFailed && error.isMissing) return null;
    throw error;
  }
  return { subscriptions: [...subscriptions.values()], unreadable };
}
