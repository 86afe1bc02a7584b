import type { TeamRecord, TrueChange } from './expected-team.ts';
import { LONGEST_REDIRECT_SECONDS, type Step } from './lifecycle/delivery-schedule.ts';
import type { History, TrueEvent } from './lifecycle/history.ts';

/**
 * The row that an application writes after a checkout: the active plan of an event's subscription, or of a
 * new one without events.
 */
export function checkoutRecord(
  { customerId, subscriptionId, productId, productName }: TrueEvent,
  isNew: boolean,
): TeamRecord {
  return {
    providerSubscriptionId: isNew ? `sub_new_${customerId}` : subscriptionId,
    providerProductId: productId,
    planName: productName,
    subscriptionStatus: 'active',
  };
}

export type Redirect = Extract<Step, { kind: 'redirect' }>;

/** A response of the API surely includes what happened this long before it. */
const MARGIN_SECONDS = 4;

/**
 * What a completed checkout tells: the subscription as it is at that time. It is dated to the last second that the
 * response surely includes, but no earlier than the beginning, and at most ten minutes after it; the end of a
 * subscription to itself. `null`: the API is down.
 */
export function changeOfRedirect(
  { events, subscriptionAt }: History,
  { subscriptionId, atMs, isApiUp }: Redirect,
): TrueChange | null {
  const shown = isApiUp ? subscriptionAt(subscriptionId, atMs) : null;
  if (shown === null) return null;
  const { status, product, startedAtSeconds, endedAtSeconds } = shown;
  const asOfSeconds = Math.floor(atMs / 1_000) - MARGIN_SECONDS;
  const latestSeconds = startedAtSeconds + LONGEST_REDIRECT_SECONDS;
  const hasProducts = events.some(({ productId }) => productId !== null);
  return {
    createdSeconds:
      endedAtSeconds ?? Math.max(startedAtSeconds, Math.min(asOfSeconds, latestSeconds)),
    subscriptionId,
    status,
    productId: hasProducts ? product.id : null,
    productName: product.name,
  };
}

/** The events and the completed checkouts of a customer in the true order. */
export function changesOf(history: History, checkouts: readonly TrueChange[]): TrueChange[] {
  return [...history.events, ...checkouts].sort((a, b) => a.createdSeconds - b.createdSeconds);
}
