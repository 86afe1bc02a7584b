// Writes the plan that a team has now, without an event: after a link, a grant or its end, and as a repair.

import type { ApplicationId } from '../core/application.ts';
import {
  type Grant,
  isGrantedPlan,
  NO_DECIDING_EVENTS,
  type PlanSelection,
  planWriterOf,
  teamPlan,
} from '../core/plan-selection.ts';
import { isSamePlan, NO_PLAN } from '../core/transition.ts';
import type { Database, Query } from '../postgres/database.ts';
import { closeGrant, readOpenGrant } from '../postgres/statements/grants.ts';
import {
  lockAvailableTeam,
  lockTeam,
  lockTeams,
  notLinked,
  setCustomer,
} from '../postgres/statements/lock-teams.ts';
import type { ActingOperator, ChangedBy } from '../postgres/statements/plan-changes.ts';
import { storeNamelessProducts } from '../postgres/statements/products.ts';
import { readSubscriptions } from '../postgres/statements/subscriptions.ts';
import { type Team, writePlans, writePlansThatFit } from '../postgres/statements/teams.ts';

type CurrentPlanOptions = {
  readonly planSelection: PlanSelection;
  /** The operator who makes the change; none by default. */
  readonly operator?: ActingOperator | null;
};

type WriteOptions = CurrentPlanOptions & {
  /** Whether to replace the plan even if the application wrote it. */
  readonly isForced?: boolean;
  /** The customer that the team had, if it has just been linked or unlinked. */
  readonly formerCustomerId?: string | null;
  /** The grant whose plan the row can have, if the transaction has closed or added one; by default, the open one. */
  readonly earlierGrant?: Grant | null;
  /** Why the plan changes; by default, because of the team's grant or customer. */
  readonly cause?: ChangedBy['cause'];
};

/**
 * Writes the plan that a locked team has now, with its open grant. Returns whether that changed the row. A granted plan
 * replaces one that the application wrote, except for a subscription that only the application knows.
 */
export async function writeCurrentPlan(
  query: Query,
  { id, customerId, plan }: Team,
  options: WriteOptions,
): Promise<{ isChanged: boolean; isGranted: boolean }> {
  const { planSelection, operator = null, isForced = false, formerCustomerId } = options;
  const grant = await readOpenGrant(query, id);
  const { earlierGrant = grant } = options;
  const known = await readSubscriptions(query, customerId === null ? [] : [customerId]);
  const decidingEvents = known.decidingEvents.get(customerId ?? '') ?? NO_DECIDING_EVENTS;
  const shouldBe = teamPlan(decidingEvents, planSelection, known.names, grant) ?? NO_PLAN;
  const isGranted = isGrantedPlan(shouldBe, grant);
  const writer = planWriterOf(plan, decidingEvents, earlierGrant);
  const isReplaced = isGranted ? writer !== 'unknown subscription' : writer === 'instep';
  if (!isReplaced && !isForced) return { isChanged: false, isGranted };
  // An issue that a comparison stored about the plan was about the former row.
  await query({
    name: 'delete_issues_about_plan',
    text: 'delete from instep.findings where team_id = $1 and plan is not null',
    values: [String(id)],
  });
  if (isSamePlan(plan, shouldBe)) return { isChanged: false, isGranted };
  const grantCause = earlierGrant !== null && grant === null ? 'grant_ended' : isGranted && 'grant';
  const cause = options.cause ?? ((formerCustomerId === undefined && grantCause) || 'link');
  // A plan without a subscription is what the former customer has left.
  const ofCustomer = decidingEvents.size === 0 ? (formerCustomerId ?? customerId) : customerId;
  const team = { id, customerId: ofCustomer, plan };
  const write = { team, shouldBe, changedBy: { cause, operator } } as const;
  await (isGranted ? writePlans : writePlansThatFit)(query, [write]);
  const { providerProductId, planName } = shouldBe;
  if (providerProductId !== null && planName === null) {
    await storeNamelessProducts(query, [providerProductId]);
  }
  return { isChanged: true, isGranted };
}

/**
 * Makes a team's row follow its customer and its grant, if its plan is not the application's own, and closes a grant
 * whose end has come. Returns whether anything changed; not while the team can't be locked.
 *
 * @throws DatabaseRefused when the application refuses the plan
 */
export async function settleTeam(
  database: Database,
  teamId: ApplicationId,
  options: Pick<CurrentPlanOptions, 'planSelection'>,
): Promise<boolean> {
  return await database.transaction(async (query) => {
    const team = await lockAvailableTeam(query, teamId);
    if (team === 'locked') return false;
    const earlierGrant = await readOpenGrant(query, teamId);
    const isOver = earlierGrant?.isOver ?? false;
    if (isOver) await closeGrant(query, teamId, null);
    if (team === null) return isOver;
    const { isChanged } = await writeCurrentPlan(query, team, { ...options, earlierGrant });
    return isChanged || isOver;
  });
}

/**
 * Gives a team a customer or none (`null`) in a transaction, and in the same change of its row the plan that it has then.
 * Returns the customer that it has: another one, or none, if that must not change.
 *
 * @throws DatabaseRefused when another team is linked to the customer, or the application refuses or skips the update
 */
export async function linkTeam(
  query: Query,
  id: ApplicationId,
  customerId: string | null,
  { canChange = () => true, ...options }: LinkOptions,
): Promise<string | null> {
  const team = await lockTeam(query, id, 'update');
  if (team === null) throw notLinked();
  const { customerId: formerCustomerId } = team;
  if (formerCustomerId !== customerId && !canChange(formerCustomerId)) return formerCustomerId;
  const isForced = formerCustomerId !== null && formerCustomerId !== customerId;
  await setCustomer(query, id, customerId);
  // The locks of all its teams guard the customer's subscriptions.
  if (customerId !== null) await lockTeams(query, [customerId]);
  const writing = { ...options, isForced, formerCustomerId };
  await writeCurrentPlan(query, { ...team, customerId }, writing);
  return customerId;
}

type LinkOptions = CurrentPlanOptions & {
  /** Whether a team that has this customer, or none, can get the other one; any by default. */
  readonly canChange?: (customerId: string | null) => boolean;
};
