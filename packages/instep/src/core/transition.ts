// What a status does to a team's plan (docs/contract.md, section 3), and how plans are compared.

import { effectOf } from './status.ts';
import type { SubscriptionState } from './subscription-event.ts';

/** A team's subscription fields, as the contract names them. */
export type TeamPlan = {
  readonly providerSubscriptionId: string | null;
  readonly providerProductId: string | null;
  readonly planName: string | null;
  /** `null` only in `NO_PLAN`. */
  readonly subscriptionStatus: string | null;
};

/** The plan of a team that no subscription has given one, or whose customer was taken away. */
export const NO_PLAN: TeamPlan = {
  providerSubscriptionId: null,
  providerProductId: null,
  planName: null,
  subscriptionStatus: null,
};

/** In the order in which they are shown. */
export const PLAN_FIELDS: readonly (keyof TeamPlan)[] = [
  'subscriptionStatus',
  'planName',
  'providerProductId',
  'providerSubscriptionId',
];

/** Whether two plans are the same, or both are missing. */
export function isSamePlan(a: TeamPlan | null, b: TeamPlan | null): boolean {
  return PLAN_FIELDS.every((field) => a?.[field] === b?.[field]);
}

/** Whether a team has a plan now; a team whose plan was cleared has only a status. */
export function hasPlan({ subscriptionStatus, ...fields }: TeamPlan): boolean {
  const grantsPlan = effectOf(subscriptionStatus) === 'grants';
  return grantsPlan || Object.values(fields).some((field) => field !== null);
}

/**
 * The team's plan if an event with this state decides it; `null` when the status has no effect. `planName` stands in for
 * the event's own.
 */
export function planAfter(
  subscription: SubscriptionState,
  planName: string | null = subscription.planName,
): TeamPlan | null {
  const effect = effectOf(subscription.status);
  if (effect === 'none') return null;
  const grantsPlan = effect === 'grants';
  return {
    providerSubscriptionId: grantsPlan ? subscription.subscriptionId : null,
    providerProductId: grantsPlan ? subscription.productId : null,
    planName: grantsPlan ? planName : null,
    subscriptionStatus: subscription.status,
  };
}
