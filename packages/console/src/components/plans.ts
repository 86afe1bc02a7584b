import type { TeamPlan } from 'instep/operate';

/** The fields of a plan with their names, in the order in which they are shown. */
export const PLAN_FIELDS = [
  ['status', 'subscriptionStatus'],
  ['plan', 'planName'],
  ['product', 'providerProductId'],
  ['subscription', 'providerSubscriptionId'],
] as const satisfies readonly (readonly [string, keyof TeamPlan])[];

/** The fields in which two plans differ; `null`: the team never had a plan. */
export function differingFields(one: TeamPlan | null, other: TeamPlan | null) {
  return PLAN_FIELDS.filter(([, field]) => (one?.[field] ?? null) !== (other?.[field] ?? null));
}
