// Stripe's list of subscriptions: how it is read, of all customers or of one.

import type { StripeApi } from '../../stripe/api.ts';
import { lastShownSecond } from '../../stripe/api-call.ts';
import { isRefusedByStripe } from '../../stripe/api-failure.ts';
import {
  type ListedSubscription,
  parseListedSubscription,
} from '../../stripe/subscription-snapshot.ts';
import { readPages } from '../stripe-calls.ts';

/** What Stripe has listed: a page of all subscriptions, or those of a customer. */
export type Listing = {
  readonly subscriptions: readonly ListedSubscription[];
  readonly unreadable: number;
};

type ListingOptions = {
  readonly listSubscriptions: StripeApi['listSubscriptions'];
  readonly customerId?: string;
  readonly now: () => number;
  readonly signal: AbortSignal;
};

/** Reads Stripe's list of subscriptions page by page. @throws Stopped, DeadlineExceeded or StripeApiFailed */
export async function* readListings(options: ListingOptions): AsyncGenerator<Listing> {
  const { listSubscriptions, customerId, now, signal } = options;
  const list = (cursor: string | null, signal: AbortSignal) =>
    listSubscriptions({ customerId, cursor }, signal);
  for await (const page of readPages({ list, signal })) {
    const { objects } = page;
    const asOfSeconds = lastShownSecond(page, now());
    const subscriptions = objects.flatMap((one) => parseListedSubscription(one, asOfSeconds) ?? []);
    yield { subscriptions, unreadable: objects.length - subscriptions.length };
  }
}

/** All subscriptions of a customer; `null` when Stripe does not know the customer, or refuses the id, such as an empty one. */
export async function listCustomer(
  customerId: string,
  { api, now }: { readonly api: Pick<StripeApi, 'listSubscriptions'>; readonly now: () => number },
  signal: AbortSignal,
): Promise<Listing | null> {
  // A page can repeat one of the page before.
  const subscriptions = new Map<string, ListedSubscription>();
  let unreadable = 0;
  const { listSubscriptions } = api;
  try {
    const options = { listSubscriptions, customerId, now, signal };
    for await (const page of readListings(options)) {
      for (const one of page.subscriptions) subscriptions.set(one.subscriptionId, one);
      unreadable += page.unreadable;
    }
  } catch (error) {
    if (isRefusedByStripe(error)) return null;
    throw error;
  }
  return { subscriptions: [...subscriptions.values()], unreadable };
}

/** What belongs to each customer, in the same order. */
export function byCustomer<One extends { readonly customerId: string }>(
  all: readonly One[],
): ReadonlyMap<string, readonly [One, ...One[]]> {
  const found = new Map<string, [One, ...One[]]>();
  for (const one of all) {
    const others = found.get(one.customerId);
    if (others === undefined) found.set(one.customerId, [one]);
    else others.push(one);
  }
  return found;
}
