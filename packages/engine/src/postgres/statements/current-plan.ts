// Writes the plan that a team has now, without an event: after a link, and as a repair.

import { hasPlan, isPlanOf, NO_PLAN } from '../../rule/plan.ts';
import type { ActingOperator } from '../../rule/plan-change.ts';
import { partOf } from '../../rule/plan-fields.ts';
import { type PlanSelection, selectedReport, teamPlan } from '../../rule/plan-selection.ts';
import { planWriterOf } from '../../rule/plan-writer.ts';
import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import { readStates } from './customers.ts';
import { lockTeam, lockTeams, lockTeamToLink, notLinked, setCustomer } from './lock-teams.ts';
import type { ChangedBy } from './plan-changes.ts';
import { storeNamelessProducts } from './products.ts';
import { type Team, writePlans, writePlansThatFit } from './teams.ts';

type CurrentPlanOptions = {
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
  readonly cause?: ChangedBy['cause'];
};

/** What a comparison found about the plan was about the former row. */
async function deleteIssuesAboutPlan(query: Query, id: ApplicationId): Promise<void> {
  await query({
    name: 'delete_issues_about_plan',
    text: 'delete from instep.findings where team_id = $1 and plan is not null',
    values: [String(id)],
  });
}

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
  await deleteIssuesAboutPlan(query, id);
  const shouldBe = teamPlan(state, planSelection, known.names) ?? NO_PLAN;
  if (isPlanOf(plan, shouldBe)) return false;
  // A plan without a subscription is what the former customer has left.
  const ofCustomer = selectedReport(state, planSelection) === null ? formerCustomerId : customerId;
  const team = { id, customerId: ofCustomer, plan };
  await writePlansThatFit(query, [
    { team, shouldBe: partOf(shouldBe, plan), changedBy: { cause, operator } },
  ]);
  const { providerProductId, planName } = shouldBe;
  if (providerProductId !== null && planName === null) {
    await storeNamelessProducts(query, [providerProductId]);
  }
  return true;
}

/**
 * Gives a team a customer or none (`null`) in a transaction, and in the same change of its row the plan that it has then.
 * Returns the customer that it has, which stays as it is if it is not the expected one.
 *
 * @throws DatabaseRefused when another team is linked to the customer, or the application refuses or skips the update
 */
export async function linkTeam(
  query: Query,
  id: ApplicationId,
  customerId: string | null,
  { expectedCustomerId, ...options }: LinkOptions,
): Promise<string | null> {
  const team = await lockTeamToLink(query, id, 'update');
  if (team === null) throw notLinked();
  const { customerId: formerCustomerId } = team;
  const isChanged = formerCustomerId !== customerId;
  const isExpected = [undefined, formerCustomerId].includes(expectedCustomerId);
  if (isChanged && !isExpected) return formerCustomerId;
  const isForced = formerCustomerId !== null && isChanged;
  await setCustomer(query, id, customerId);
  // The locks of all its teams guard the customer's subscriptions.
  if (customerId !== null) await lockTeams(query, [customerId]);
  const writing = { ...options, isForced, formerCustomerId };
  await writeCurrentPlan(query, { ...team, customerId }, writing);
  return customerId;
}

type LinkOptions = CurrentPlanOptions & {
  /** The customer that the team has, or `null`; any by default. */
  readonly expectedCustomerId?: string | null;
};

/** What became of a plan that was given: `former` is the name that the team had. */
type Given =
  | { readonly code: 'given'; readonly team: Team; readonly former: string | null }
  | { readonly code: 'no column' | 'subscription decides'; readonly team: Team }
  | { readonly code: 'no such team' };

/**
 * Gives a team a plan without a subscription in a transaction, as the application does for a gift, or takes away one that was
 * given (`null`). Nothing is written where the customer's subscriptions decide, because the plan would not last.
 *
 * @throws DatabaseRefused when the application refuses or skips the update; DatabaseBusy
 */
export async function givePlan(
  query: Query,
  id: ApplicationId,
  planName: string | null,
  operator: ActingOperator,
): Promise<Given> {
  const team = await lockTeam(query, id, 'no key update');
  if (team === null) return { code: 'no such team' };
  const { customerId, plan } = team;
  if (plan.planName === undefined) return { code: 'no column', team };
  const state = (await readStates(query, customerId === null ? [] : [customerId])).of(customerId);
  const given = { ...NO_PLAN, planName, subscriptionStatus: 'active' };
  const shouldBe = partOf(planName === null ? NO_PLAN : given, plan);
  const isPaid = hasPlan(plan) && Boolean(plan.providerSubscriptionId);
  const isOfApp = planWriterOf(planName === null ? plan : shouldBe, state) === 'app';
  if (isPaid || !isOfApp) return { code: 'subscription decides', team };
  await deleteIssuesAboutPlan(query, team.id);
  await writePlans(query, [{ team, shouldBe, changedBy: { cause: 'operator', operator } }]);
  return { code: 'given', team, former: plan.planName };
}
