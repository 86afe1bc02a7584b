// Which snapshots from Stripe's API still decide something when they arrive.

import type { CustomerState } from './customer-state.ts';
import type { SubscriptionEvent } from './event.ts';
import type { KnownEvents } from './known-events.ts';

/**
 * Whether a snapshot that was asked for because an order was ambiguous no longer decides it: the order has become known,
 * or an event of the tie group has arrived that the snapshot had not seen. `false` for any other event.
 */
export function isOutdated(
  state: CustomerState,
  event: SubscriptionEvent,
  known: KnownEvents,
): boolean {
  const { isSnapshot, seenKeys, subscription } = event;
  if (!isSnapshot || seenKeys === null) return false;
  const deciding = state.subscriptions.get(subscription.subscriptionId)?.deciding;
  const isStillAmbiguous =
    deciding?.isAmbiguous && deciding.reported.createdSeconds === subscription.createdSeconds;
  return !isStillAmbiguous || known.inSecondOf(event).some(({ key }) => !seenKeys.has(key));
}
