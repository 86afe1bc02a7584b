// Who wrote the plan that a team's row has. Whatever writes a plan without an applied event asks here.

import type { CustomerState } from './customer-state.ts';
import { contractPlan, hasPlan, isSamePlan, NO_PLAN, planAfter } from './plan.ts';
import type { Plan } from './plan-fields.ts';
import { selectedReport } from './plan-selection.ts';
import { rankOf } from './status.ts';

/**
 * Who wrote a row's plan last.
 *
 * - `instep`: Instep could have, because the plan is empty, or the customer's under either setting, since the setting can
 *   have changed. The name is ignored, because it can arrive later or change.
 * - `app`: the application gave it away. It names no subscription, and the customer has none that grants a plan.
 * - `unknown subscription`: no event of its subscription is known, so only the application can tell whether it is right.
 * - `by hand`: every other plan.
 */
export type PlanWriter = 'instep' | 'app' | 'unknown subscription' | 'by hand';

export function planWriterOf(plan: Plan, state: CustomerState): PlanWriter {
  const isFromInstep =
    isSamePlan(plan, NO_PLAN) ||
    (['newest', 'best'] as const).some((planSelection) => {
      const selected = selectedReport(state, planSelection);
      const selectedPlan = selected && planAfter({ ...selected.plan, planName: plan.planName });
      return isSamePlan(contractPlan(plan), selectedPlan && contractPlan(selectedPlan));
    });
  if (isFromInstep) return 'instep';
  const { providerSubscriptionId: id } = plan;
  if (id !== null) return state.subscriptions.has(id) ? 'by hand' : 'unknown subscription';
  const best = selectedReport(state, 'best');
  return hasPlan(plan) && rankOf(best?.status ?? '') === 0 ? 'app' : 'by hand';
}
