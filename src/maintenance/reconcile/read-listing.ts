import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { readListedSubscription } from '../../stripe/listed-subscription.ts';
import type { ListPage } from '../stripe-pages.ts';

/** What a page shows must hold all that happened until it was asked for, by a margin for clocks. */
const MARGIN_SECONDS = 3;

/** The same where Stripe did not say what its clock says. */
const MARGIN_OF_OURS_SECONDS = 60;

export type Listing = {
  readonly subscriptions: readonly ListedSubscription[];
  /** How many could not be understood. */
  readonly unreadable: number;
};

/** Understands a page of Stripe's list of subscriptions; `nowMs` in milliseconds since 1970. */
export function readListing(page: ListPage, nowMs: number): Listing {
  const { objects, answeredSeconds, tookMs } = page;
  const answered = answeredSeconds ?? Math.floor(nowMs / 1_000) - MARGIN_OF_OURS_SECONDS;
  const asOfSeconds = answered - Math.ceil(tookMs / 1_000) - MARGIN_SECONDS;
  const subscriptions = new Map<string, ListedSubscription>();
  let unreadable = 0;
  for (const object of objects) {
    const subscription = readListedSubscription(object, asOfSeconds);
    if (subscription === null) unreadable += 1;
    else subscriptions.set(subscription.subscriptionId, subscription);
  }
  return { subscriptions: [...subscriptions.values()], unreadable };
}
