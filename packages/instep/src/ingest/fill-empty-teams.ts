import type { ApplicationId } from '../core/application-id.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { Database } from '../postgres/database.ts';
import { DatabaseRefused } from '../postgres/errors.ts';
import { applyCustomers } from './apply-batch.ts';

/**
 * Gives these customers' teams with empty plan columns the plans of their customers: a team can have been
 * linked, recreated or added after the customer's events. Returns the ids of the changed teams.
 *
 * @throws DatabaseRefused when the application refuses one of the plans; then none is written
 */
export async function fillEmptyTeams(
  database: Database,
  planSelection: PlanSelection,
  customerIds: readonly string[],
): Promise<ApplicationId[]> {
  const fill = (withoutNames: boolean) =>
    database.transaction((query, atCommit) =>
      applyCustomers({ query, atCommit }, customerIds, { planSelection, withoutNames }),
    );
  try {
    return await fill(false);
  } catch (error) {
    if (!(error instanceof DatabaseRefused) || customerIds.length > 1) throw error;
    // The application's column may be too short for the name.
    return await fill(true);
  }
}
