// Who wrote the plan that a team's row has. Whatever writes a plan without an applied event asks here.

import type { CustomerState } from './customer-state.ts';
import { hasPlan, isPlanOf, NO_PLAN, planAfter } from './plan.ts';
import { contractPart, type PlanInRow } from './plan-fields.ts';
import { grantsPlan, selectedReports } from './plan-selection.ts';

/**
 * Who wrote a row's plan last.
 *
 * - `instep`: Instep could have, because the plan is empty, or the customer's under either setting, since the setting can
 *   have changed. The name is ignored, because it can arrive later or change.
 * - `app`: the application gave it away. It names no subscription, and the customer has none that grants a plan. Where the
 *   table has no column for a subscription, the customer never had one.
 * - `unknown subscription`: no event of its subscription is known, so only the application can tell whether it is right.
 * - `by hand`: every other plan.
 */
export type PlanWriter = 'instep' | 'app' | 'unknown subscription' | 'by hand';

export function planWriterOf(plan: PlanInRow, state: CustomerState): PlanWriter {
  const isFromInstep =
    isPlanOf(plan, NO_PLAN) ||
    selectedReports(state).some((selected) => {
      const planName = plan.planName ?? null;
      // The others can be in columns that the application has added since.
      const selectedPlan = selected && planAfter({ ...selected.plan, planName });
      return selectedPlan !== null && isPlanOf(contractPart(plan), selectedPlan);
    });
  if (isFromInstep) return 'instep';
  const { providerSubscriptionId: id } = plan;
  if (id === undefined && state.subscriptions.size > 0) return 'by hand';
  if (id) return state.subscriptions.has(id) ? 'by hand' : 'unknown subscription';
  return hasPlan(plan) && ![...state.subscriptions.values()].some(grantsPlan) ? 'app' : 'by hand';
}
