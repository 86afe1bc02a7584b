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
import { DatabaseRefused, databaseError } from '../postgres/errors.ts';
import { closeGrant, readOpenGrant } from '../postgres/statements/grants.ts';
import {
  lockAvailableTeam,
  lockTeam,
  lockTeams,
  notLinked,
  setCustomer,
} from '../postgres/statements/lock-teams.ts';
import { noteNamelessProducts } from '../postgres/statements/products.ts';
import { readSubscriptions } from '../postgres/statements/subscriptions.ts';
import { type PlanWrite, type Team, writePlans } from '../postgres/statements/teams.ts';

type CurrentPlanOptions = {
  readonly planSelection: PlanSelection;
  /** Whose change it is; nobody's by default. */
  readonly operator?: string | null;
};

type WriteOptions = CurrentPlanOptions & {
  /** Whether any plan is replaced, whoever wrote it. */
  readonly isForced?: boolean;
  /** The customer that the team had, if it has just been linked or unlinked. */
  readonly former?: string | null;
};

/**
 * Writes the plan that a locked team has with the grant `after`, if it can have that of the grant `before` now. Returns
 * whether that changed the row. A granted plan replaces one that the application wrote, except for a subscription that
 * only the application knows.
 */
export async function writeCurrentPlan(
  query: Query,
  { id, customerId, plan }: Team,
  { before, after }: Readonly<Record<'before' | 'after', Grant | null>>,
  { planSelection, operator = null, isForced = false, former }: WriteOptions,
): Promise<{ isChanged: boolean; isGranted: boolean }> {
  const known = await readSubscriptions(query, customerId === null ? [] : [customerId]);
  const decidingEvents = known.decidingEvents.get(customerId ?? '') ?? NO_DECIDING_EVENTS;
  const shouldBe = teamPlan(decidingEvents, planSelection, known.names, after) ?? NO_PLAN;
  const isGranted = isGrantedPlan(shouldBe, after);
  const writer = planWriterOf(plan, decidingEvents, before);
  const isReplaced = isGranted ? writer !== 'unknown subscription' : writer === 'instep';
  if (!isReplaced && !isForced) return { isChanged: false, isGranted };
  // What a comparison found about the plan was about the former row.
  await query({
    name: 'forget_issues_about_plan',
    text: 'delete from instep.findings where team_id = $1 and plan is not null',
    values: [String(id)],
  });
  if (isSamePlan(plan, shouldBe)) return { isChanged: false, isGranted };
  const grantCause = before !== null && after === null ? 'grant_ended' : isGranted && 'grant';
  const cause = (former === undefined && grantCause) || 'link';
  // A plan without a subscription is what the former customer has left.
  const ofCustomer = decidingEvents.size === 0 ? (former ?? customerId) : customerId;
  const team = { id, customerId: ofCustomer, plan };
  await writeWithName(query, { team, shouldBe, changedBy: { cause, operator } }, isGranted);
  const { providerProductId, planName } = shouldBe;
  if (providerProductId !== null && planName === null) {
    await noteNamelessProducts(query, [providerProductId]);
  }
  return { isChanged: true, isGranted };
}

/** Without the name of a subscription's plan if the application refuses it: its column may be too short. */
async function writeWithName(query: Query, write: PlanWrite, isGranted: boolean): Promise<void> {
  const { shouldBe } = write;
  if (isGranted || shouldBe.planName === null) return await writePlans(query, [write]);
  await query('savepoint before_name');
  try {
    await writePlans(query, [write]);
  } catch (error) {
    if (!(databaseError(error) instanceof DatabaseRefused)) throw error;
    await query('rollback to savepoint before_name');
    await writePlans(query, [{ ...write, shouldBe: { ...shouldBe, planName: null } }]);
  }
}

/**
 * Makes a team's row follow its customer and its grant, if its plan is not the application's own, and closes a grant
 * whose end has come. Returns whether anything changed; not while another transaction has locked the team.
 *
 * @throws DatabaseRefused when the application refuses the plan, or row level security hides the team from updates
 */
export async function settleTeam(
  database: Database,
  teamId: ApplicationId,
  options: Pick<CurrentPlanOptions, 'planSelection'>,
): Promise<boolean> {
  return await database.transaction(async (query) => {
    const team = await lockAvailableTeam(query, teamId, 'no key update');
    if (team === 'locked') return false;
    const before = await readOpenGrant(query, teamId);
    const isOver = before?.isOver ?? false;
    if (isOver) await closeGrant(query, teamId, null);
    if (team === null) return isOver;
    const after = isOver ? null : before;
    const { isChanged } = await writeCurrentPlan(query, team, { before, after }, options);
    return isChanged || isOver;
  });
}

/**
 * Links a team to a customer in a transaction, unless it has another customer that must not be replaced. The row gets the
 * customer's plan in the same change. Returns whether it was linked.
 *
 * @throws DatabaseRefused when another team is linked to the customer, or the application refuses or skips the update
 */
export async function linkTeam(
  query: Query,
  id: ApplicationId,
  customerId: string,
  { canReplace = true, ...options }: CurrentPlanOptions & { readonly canReplace?: boolean },
): Promise<boolean> {
  const team = await lockTeam(query, id, 'update');
  if (team === null) throw notLinked();
  const isOther = team.customerId !== null && team.customerId !== customerId;
  if (isOther && !canReplace) return false;
  await changeCustomer(query, team, customerId, { ...options, isForced: isOther });
  return true;
}

/**
 * Takes the customer away from a team in a transaction, and with it the plan.
 *
 * @throws DatabaseRefused when the team has another customer, or the application refuses or skips the update
 */
export async function unlinkTeam(
  query: Query,
  id: ApplicationId,
  customerId: string,
  options: CurrentPlanOptions,
): Promise<void> {
  const team = await lockTeam(query, id, 'update');
  if (team?.customerId !== customerId) throw notLinked();
  await changeCustomer(query, team, null, { ...options, isForced: true });
}

async function changeCustomer(
  query: Query,
  team: Team,
  customerId: string | null,
  options: WriteOptions,
): Promise<void> {
  await setCustomer(query, team.id, customerId);
  // The locks of all its teams guard the customer's subscriptions.
  if (customerId !== null) await lockTeams(query, [customerId]);
  const grant = await readOpenGrant(query, team.id);
  const linked = { ...team, customerId };
  const grants = { before: grant, after: grant };
  await writeCurrentPlan(query, linked, grants, { ...options, former: team.customerId });
}
