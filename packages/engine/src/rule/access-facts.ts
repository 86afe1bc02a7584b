// The facts by which SQL decides whether a team may use the product (docs/access.md): those of one subscription.

import type { CustomerState, SubscriptionState } from './customer-state.ts';
import {
  compareBest,
  compareIds,
  compareNewest,
  grantsPlan,
  type PlanSelection,
} from './plan-selection.ts';
import type { Reported } from './reported.ts';
import { accessOf, isCharged, isPaymentDue } from './status.ts';

/** The subscription that decides access. */
export type AccessFacts = {
  readonly latest: Reported;
  /** Since when it has its status. */
  readonly sinceSeconds: number;
  /** Whether its plan counts while its status is new at Stripe, so that this version can't tell. */
  readonly grantsPlan: boolean;
  /**
   * When it ends if nothing else happens: the planned end, that of a period that will not renew, or of a trial without a
   * payment method. `null`: none is known, or it has ended, or an event of a later day says that it has not.
   */
  readonly endsAtSeconds: number | null;
};

/** The facts of the subscription that decides access; `null`: the customer has none. */
export function accessFacts(
  { subscriptions }: CustomerState,
  planSelection: PlanSelection,
): AccessFacts | null {
  const byAccess = (one: SubscriptionState, other: SubscriptionState) =>
    planSelection === 'best' ? compareAccess(one, other) : 0;
  const [selected] = [...subscriptions.values()].sort(
    (one, other) => byAccess(other, one) || compareDeciding(other, one, planSelection),
  );
  if (selected === undefined) return null;
  const { latest } = selected;
  return {
    latest: latest.reported,
    sinceSeconds: latest.sinceSeconds,
    grantsPlan: grantsPlan(selected),
    endsAtSeconds: endsAtSeconds(latest.reported),
  };
}

/** The event of an end can arrive this much later. */
export const END_MARGIN_SECONDS = 24 * 60 * 60;

function endsAtSeconds(latest: Reported): number | null {
  const { status, plan, cancelAtSeconds, trialEndAction, createdSeconds } = latest;
  if (accessOf(status) === 'no') return null;
  const endsWithTrial =
    status === 'trialing' && (trialEndAction === 'cancel' || trialEndAction === 'pause');
  const ends = [
    cancelAtSeconds ?? [],
    (plan.cancelAtPeriodEnd && plan.currentPeriodEndsAt) || [],
    (endsWithTrial && plan.trialEndsAt) || [],
  ].flat();
  const endsAt = Math.min(...ends);
  return Number.isFinite(endsAt) && createdSeconds <= endsAt + END_MARGIN_SECONDS ? endsAt : null;
}

/** Positive for the one with more access: of two payments that are due, the one that has been due for the shortest time. */
function compareAccess(a: SubscriptionState, b: SubscriptionState): number {
  const difference = extentOf(a) - extentOf(b);
  if (difference !== 0 || accessOf(a.latest.reported.status) !== 'in grace') return difference;
  return a.latest.sinceSeconds - b.latest.sinceSeconds;
}

function extentOf(subscription: SubscriptionState): number {
  switch (accessOf(subscription.latest.reported.status)) {
    case 'yes':
      return 2;
    case 'in grace':
      return 1;
    case 'no':
      return 0;
    case null:
      // A status that is new at Stripe changes nothing.
      return grantsPlan(subscription) ? 2 : 0;
  }
}

/** Positive for the one whose deciding event is better or newer; without one, only the latest events count. */
function compareDeciding(
  a: SubscriptionState,
  b: SubscriptionState,
  planSelection: PlanSelection,
): number {
  if (a.deciding !== null && b.deciding !== null) {
    const compare = planSelection === 'best' ? compareBest : compareNewest;
    return compare(a.deciding.reported, b.deciding.reported);
  }
  if (a.deciding !== null || b.deciding !== null) return a.deciding === null ? -1 : 1;
  const [one, other] = [a.latest.reported, b.latest.reported];
  const { providerSubscriptionId: id } = one.plan;
  return (
    one.createdSeconds - other.createdSeconds || compareIds(id, other.plan.providerSubscriptionId)
  );
}

/** The subscriptions that Stripe charges. With more than one, it charges the customer twice. */
export function chargedSubscriptions({ subscriptions }: CustomerState): SubscriptionState[] {
  return [...subscriptions.values()].filter(({ latest }) => isCharged(latest.reported.status));
}

/** The ids of the subscriptions that Stripe charges, if there are several. */
export function chargedTwice(state: CustomerState): readonly string[] | null {
  const ids = chargedSubscriptions(state).flatMap(({ latest }) => {
    return latest.reported.plan.providerSubscriptionId ?? [];
  });
  return ids.length > 1 ? ids.sort() : null;
}

/** Since when the customer's first payment has been due; `null`: none is. */
export function dueSinceSeconds({ subscriptions }: CustomerState): number | null {
  const due = [...subscriptions.values()].filter(({ latest }) =>
    isPaymentDue(latest.reported.status),
  );
  return due.length === 0 ? null : Math.min(...due.map(({ latest }) => latest.sinceSeconds));
}
