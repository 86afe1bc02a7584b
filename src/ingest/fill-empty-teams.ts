import type { ApplicationId } from '../core/application-id.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { Database } from '../postgres/database.ts';
import { DatabaseRefused } from '../postgres/errors.ts';
import { readCustomersOfEmptyTeams } from '../queries/teams.ts';
import { applyCustomers } from './apply-batch.ts';

const BATCH = 200;

/**
 * Gives teams with empty plan columns the plan of their current customer: a team can have been linked,
 * recreated or added after the customer's events. Returns the ids of up to 200 teams.
 *
 * @throws DatabaseRefused when the application refuses one of the plans; the others are written
 */
export async function fillEmptyTeams(
  database: Database,
  planSelection: PlanSelection,
  customerIds?: readonly string[],
): Promise<ApplicationId[]> {
  const due = customerIds ?? (await readCustomersOfEmptyTeams(database.query, BATCH));
  if (due.length === 0) return [];
  const fill = (withoutNames: boolean) =>
    database.transaction((query, atCommit) =>
      applyCustomers({ query, atCommit }, due, { planSelection, withoutNames }),
    );
  try {
    return await fill(false);
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error;
    // The application's column may be too short for a name.
    return due.length === 1 ? await fill(true) : await fillOneByOne(database, planSelection, due);
  }
}

async function fillOneByOne(
  database: Database,
  planSelection: PlanSelection,
  customerIds: readonly string[],
): Promise<ApplicationId[]> {
  const teamIds: ApplicationId[] = [];
  let refusal: DatabaseRefused | null = null;
  for (const customerId of customerIds) {
    try {
      teamIds.push(...(await fillEmptyTeams(database, planSelection, [customerId])));
    } catch (error) {
      if (!(error instanceof DatabaseRefused)) throw error;
      refusal = error;
    }
  }
  if (refusal !== null) throw refusal;
  return teamIds;
}
