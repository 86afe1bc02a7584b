// Writes the plan that a team has now, without an event: after a link, and as a repair.

import type { ApplicationId } from '../core/application.ts';
import {
  NO_DECIDING_EVENTS,
  type PlanSelection,
  planWriterOf,
  teamPlan,
} from '../core/plan-selection.ts';
import { isSamePlan, NO_PLAN } from '../core/transition.ts';
import type { Database, Query } from '../postgres/database.ts';
import {
  lockAvailableTeams,
  lockTeam,
  lockTeams,
  notLinked,
  setCustomer,
} from '../postgres/statements/lock-teams.ts';
import type { ActingOperator, ChangedBy } from '../postgres/statements/plan-changes.ts';
import { storeNamelessProducts } from '../postgres/statements/products.ts';
import { readSubscriptions } from '../postgres/statements/subscriptions.ts';
import { readTeam, type Team, writePlansThatFit } from '../postgres/statements/teams.ts';

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

/** Writes the plan that a locked team has now. Returns whether that changed the row. */
export async function writeCurrentPlan(
  query: Query,
  { id, customerId, plan }: Team,
  options: WriteOptions,
): Promise<boolean> {
  const { planSelection, operator = null, isForced = false, cause = 'link' } = options;
  const { formerCustomerId = customerId } = options;
  const customerIds = new Set([customerId ?? [], formerCustomerId ?? []].flat());
  const known = await readSubscriptions(query, [...customerIds]);
  const eventsOf = (customer: string | null) =>
    known.decidingEvents.get(customer ?? '') ?? NO_DECIDING_EVENTS;
  const decidingEvents = eventsOf(customerId);
  const writer = planWriterOf(plan, decidingEvents);
  // A plan that the application gave away stays until a subscription of the customer grants one.
  const wasGivenAway = planWriterOf(plan, eventsOf(formerCustomerId)) === 'app';
  const isReplaced = wasGivenAway ? writer !== 'app' : isForced || writer === 'instep';
  if (!isReplaced) return false;
  // An issue that a comparison stored about the plan was about the former row.
  await query({
    name: 'delete_issues_about_plan',
    text: 'delete from instep.findings where team_id = $1 and plan is not null',
    values: [String(id)],
  });
  const shouldBe = teamPlan(decidingEvents, planSelection, known.names) ?? NO_PLAN;
  if (isSamePlan(plan, shouldBe)) return false;
  // A plan without a subscription is what the former customer has left.
  const ofCustomer = decidingEvents.size === 0 ? formerCustomerId : customerId;
  const team = { id, customerId: ofCustomer, plan };
  await writePlansThatFit(query, [{ team, shouldBe, changedBy: { cause, operator } }]);
  const { providerProductId, planName } = shouldBe;
  if (providerProductId !== null && planName === null) {
    await storeNamelessProducts(query, [providerProductId]);
  }
  return true;
}

/**
 * Makes a team's row follow its customer, if its plan is not the application's own. Returns whether anything changed; not
 * while a team of the customer is locked.
 *
 * @throws DatabaseRefused when the application refuses the plan
 */
export async function settleTeam(
  database: Database,
  teamId: ApplicationId,
  options: Pick<CurrentPlanOptions, 'planSelection'>,
): Promise<boolean> {
  return await database.transaction(async (query) => {
    const customerId = (await readTeam(query, teamId))?.customerId ?? null;
    if (customerId === null) return false;
    // The locks of all its teams guard the customer's subscriptions.
    const { teams } = await lockAvailableTeams(query, [customerId]);
    const team = teams.find(({ id }) => String(id) === String(teamId));
    return team !== undefined && (await writeCurrentPlan(query, team, options));
  });
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
  const team = await lockTeam(query, id, 'update');
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
