// Writes the plan that a team has now, without an event: after a link, and as a repair.

import { isPlanOf, NO_PLAN } from '../../rule/plan.ts';
import type { ActingOperator, ChangeCause } from '../../rule/plan-change.ts';
import { partOf } from '../../rule/plan-fields.ts';
import { type PlanSelection, selectedReport, teamPlan } from '../../rule/plan-selection.ts';
import { planWriterOf } from '../../rule/plan-writer.ts';
import type { Query } from '../database.ts';
import { readStates } from './customers.ts';
import { storeNamelessProducts } from './products.ts';
import type { Team } from './teams.ts';
import { writePlanThatFits } from './write-plan.ts';

export type CurrentPlanOptions = {
  readonly planSelection: PlanSelection;
  /** The operator who makes the change; none by default. */
  readonly operator?: ActingOperator | null;
};

type WriteOptions = CurrentPlanOptions & {
  /** Whether to replace the plan even if the application wrote it, unless the application gave it away. */
  readonly isForced?: boolean;
  /** The customer that the team had, if it has just been linked or unlinked. */
  readonly formerCustomerId?: string | null;
  /** Why the plan changes; by default, because of the team's customer. */
  readonly cause?: ChangeCause;
};

/** Writes the plan that a locked team has now. Returns whether that changed the row. */
export async function writeCurrentPlan(
  query: Query,
  { id, customerId, plan }: Team,
  options: WriteOptions,
): Promise<boolean> {
  const { planSelection, operator = null, isForced = false, cause = 'link' } = options;
  const { formerCustomerId = customerId } = options;
  const customerIds = new Set([customerId ?? [], formerCustomerId ?? []].flat());
  const known = await readStates(query, [...customerIds]);
  const state = known.of(customerId);
  const writer = planWriterOf(plan, state);
  // A plan that the application gave away stays until a subscription of the customer grants one.
  const wasGivenAway = planWriterOf(plan, known.of(formerCustomerId)) === 'app';
  const isReplaced = wasGivenAway ? writer !== 'app' : isForced || writer === 'instep';
  if (!isReplaced) return false;
  const shouldBe = teamPlan(state, planSelection, known.names) ?? NO_PLAN;
  if (isPlanOf(plan, shouldBe)) return false;
  // A plan without a subscription is what the former customer has left.
  const ofCustomer = selectedReport(state, planSelection) === null ? formerCustomerId : customerId;
  const team = { id, customerId: ofCustomer, plan };
  await writePlanThatFits(query, { team, shouldBe: partOf(shouldBe, plan), cause, operator });
  const { providerProductId, planName } = shouldBe;
  if (providerProductId !== null && planName === null) {
    await storeNamelessProducts(query, [providerProductId]);
  }
  return true;
}
