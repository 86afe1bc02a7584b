// Which subscription decides a team's plan. Whatever writes, compares or explains a plan asks here.

import type { CustomerState, SubscriptionState } from './customer-state.ts';
import { planAfter } from './plan.ts';
import type { Plan } from './plan-fields.ts';
import type { Reported } from './reported.ts';
import { effectOf, rankOf } from './status.ts';

export const PLAN_SELECTIONS = ['newest', 'best'] as const;

/**
 * Which of a customer's subscriptions decides the team's plan (docs/contract.md, section 6, ordering rule 5): the one with
 * the newest deciding event, or the best one that grants a plan.
 */
export type PlanSelection = (typeof PLAN_SELECTIONS)[number];

/** What the event that decides the team's plan reports; `null` when no event has an effect. */
export function selectedReport(
  { subscriptions }: CustomerState,
  planSelection: PlanSelection,
): Reported | null {
  const decided = [...subscriptions.values()].flatMap(({ deciding }) => deciding?.reported ?? []);
  return decided.sort(planSelection === 'newest' ? compareNewest : compareBest).at(-1) ?? null;
}

/** The same under each of the settings, which can change. */
export function selectedReports(state: CustomerState): readonly (Reported | null)[] {
  return PLAN_SELECTIONS.map((planSelection) => selectedReport(state, planSelection));
}

/** Whether the event that decides for this subscription grants a plan. */
export function grantsPlan({ deciding }: SubscriptionState): boolean {
  return deciding !== null && effectOf(deciding.reported.status) === 'grants';
}

/**
 * The best of the subscriptions whose status grants a plan: several, if only the times of their last changes, which not
 * everything knows, make one better.
 */
export function bestOf<One>(subscriptions: readonly One[], statusOf: (one: One) => string): One[] {
  const ranks = subscriptions.map((one) => rankOf(statusOf(one)));
  const best = Math.max(1, ...ranks);
  return subscriptions.filter((_, index) => ranks[index] === best);
}

/** The names of products, for events without one. */
export type ProductNames = ReadonlyMap<string | null, string>;

/** The plan of the customer's team; `null` when no event has an effect. */
export function teamPlan(
  state: CustomerState,
  planSelection: PlanSelection,
  names: ProductNames,
): Plan | null {
  const selected = selectedReport(state, planSelection);
  return selected && planAfter(withName(selected.plan, names));
}

function withName(plan: Plan, names: ProductNames): Plan {
  return { ...plan, planName: plan.planName ?? names.get(plan.providerProductId) ?? null };
}

/**
 * Positive for the later event. Within one second, nothing shows which of two subscriptions changed last, so the one that
 * grants a plan is later, then the one with the larger id.
 */
export function compareNewest(a: Reported, b: Reported): number {
  return (
    a.createdSeconds - b.createdSeconds ||
    rankOf(a.status) - rankOf(b.status) ||
    compareIds(a.plan.providerSubscriptionId, b.plan.providerSubscriptionId)
  );
}

/** Positive for the best subscription that grants a plan, and of two equals for the newer one. */
export function compareBest(a: Reported, b: Reported): number {
  return rankOf(a.status) - rankOf(b.status) || compareNewest(a, b);
}

/** Never returns 0: no two subscriptions of a customer have the same id. */
export function compareIds(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : 1;
}
