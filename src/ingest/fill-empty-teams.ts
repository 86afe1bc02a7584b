import type { ApplicationId } from '../core/application-id.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { Database } from '../postgres/database.ts';
import { readCustomersOfEmptyTeams } from '../queries/teams.ts';
import { applyCustomers } from './apply-batch.ts';

const BATCH = 200;

/**
 * Gives teams with empty plan columns the plan of the customer that they have now: a team may have
 * been linked, recreated or added after the customer's events. Returns the ids of up to 200 teams.
 */
export async function fillEmptyTeams(
  { query, transaction }: Database,
  planSelection: PlanSelection,
  customerIds?: readonly string[],
): Promise<ApplicationId[]> {
  const due = customerIds ?? (await readCustomersOfEmptyTeams(query, BATCH));
  if (due.length === 0) return [];
  return await transaction((query, atCommit) =>
    applyCustomers({ query, atCommit }, due, { planSelection, withoutNames: false }),
  );
}
