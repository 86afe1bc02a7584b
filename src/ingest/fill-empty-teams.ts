import type { PlanSelection } from '../core/plan-selection.ts';
import type { Database } from '../postgres/database.ts';
import { readCustomers } from '../queries/subscriptions.ts';
import { lockFreeTeams, readCustomersOfEmptyTeams, writePlans } from '../queries/teams.ts';
import { decide } from './decide.ts';

const BATCH = 200;

/**
 * Gives teams with empty plan columns the plan of the customer that they have now: a team may have
 * been linked, recreated or added after the customer's events. Returns the ids of up to 200 teams.
 */
export async function fillEmptyTeams(
  { query, transaction }: Database,
  planSelection: PlanSelection,
  customerIds?: readonly string[],
): Promise<number[]> {
  const due = customerIds ?? (await readCustomersOfEmptyTeams(query, BATCH));
  if (due.length === 0) return [];
  return await transaction(async (query) => {
    const { teams } = await lockFreeTeams(query, due);
    const stored = await readCustomers(query, due);
    const { plans } = decide([], { ...stored, teams, logged: [] }, planSelection);
    if (plans.size > 0) await writePlans(query, plans);
    return [...plans.keys()];
  });
}
