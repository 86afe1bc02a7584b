// Finds the plans that something other than Instep has changed, without asking Stripe.

import type { ApplicationId } from '../core/application.ts';
import { type PlanSelection, planWriterOf, teamPlan } from '../core/plan-selection.ts';
import type { Query } from '../postgres/database.ts';
import type { Examined } from '../postgres/examine.ts';
import { type FoundIssue, storeIssues } from '../postgres/statements/issues.ts';
import { readProductNames } from '../postgres/statements/products.ts';
import {
  readSubscriptions,
  type StoredSubscriptions,
} from '../postgres/statements/subscriptions.ts';
import { type LinkedTeam, readLinkedTeams } from '../postgres/statements/teams.ts';
import { sweep, type Turn } from './lease.ts';
import { storeWritten } from './questions.ts';

type ChangedTeamsOptions = {
  readonly query: Query;
  readonly planSelection: PlanSelection;
  readonly clockMs?: () => number;
};

const PAGE = 500;

/**
 * Finds teams that were changed by hand: something other than Instep has changed their plan. It does not ask
 * Stripe: reconciliation does, and repairs the plans that Stripe does not confirm. Stripe is asked only about
 * subscriptions that nothing is known of.
 */
export async function findChangedTeams(
  run: Turn,
  { query, planSelection, clockMs }: ChangedTeamsOptions,
): Promise<void> {
  async function examine(afterId: ApplicationId | null): Promise<Examined<FoundIssue>> {
    // Read the teams before their customers, so that an issue due to an event in between refers to a row
    // that no longer exists.
    const { found: teams, examinedTo } = await readLinkedTeams(query, { afterId, limit: PAGE });
    const customerIds = teams.map(({ customerId }) => customerId);
    const known = await readSubscriptions(query, customerIds);
    const applied = await readProductNames(query, [...known.names.keys()], 'applied');
    const withUnknown = teams.filter(({ customerId, plan: { providerSubscriptionId: id } }) => {
      return id !== null && known.decidingEvents.get(customerId)?.has(id) !== true;
    });
    await storeWritten(query, [...new Set(withUnknown.map(({ customerId }) => customerId))]);
    const found = teams.flatMap((team) => changedTeamIssues(team, known, applied, planSelection));
    // Only Stripe shows that a wrong name is right again.
    await storeIssues(query, customerIds, found, ['changed by hand']);
    return { found, examinedTo };
  }

  await sweep(run, examine, { clockMs });
}

/**
 * A row with a subscription of which no event is known may be right, and so may a row without a plan. A name is wrong
 * only if all teams of the product got another one: before, it can be a former name.
 */
function changedTeamIssues(
  { id: teamId, customerId, plan }: LinkedTeam,
  known: StoredSubscriptions,
  applied: ReadonlyMap<string, string>,
  planSelection: PlanSelection,
): FoundIssue[] {
  const decidingEvents = known.decidingEvents.get(customerId);
  if (decidingEvents === undefined) return [];
  const writer = planWriterOf(plan, decidingEvents);
  if (writer === 'unknown subscription') return [];
  const shouldBe = teamPlan(decidingEvents, planSelection, known.names);
  const found = { customerId, teamId, plan, shouldBe, beganSeconds: null };
  if (writer === 'by hand') return [{ ...found, cause: 'changed by hand' }];
  const name = applied.get(plan.providerProductId ?? '') ?? null;
  const isAnotherName = plan.planName !== null && name !== null && plan.planName !== name;
  return isAnotherName && shouldBe?.planName === name
    ? [{ ...found, cause: 'another plan name' }]
    : [];
}
