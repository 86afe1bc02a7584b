import type { ApplicationId } from '../core/application-id.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import { fillEmptyTeams } from '../ingest/fill-empty-teams.ts';
import type { Database } from '../postgres/database.ts';
import { DatabaseRefused } from '../postgres/errors.ts';
import { readCustomersOfEmptyTeams } from '../queries/teams.ts';
import type { Logger } from '../runtime/logging.ts';
import { RestingCustomers } from './resting-customers.ts';

type EmptyTeamsOptions = {
  readonly database: Database;
  readonly planSelection: PlanSelection;
  readonly logger: Logger;
};

const BATCH = 200;

/**
 * Returns a function that fills teams with empty plan columns, and returns the ids of up to 200 teams. Customers
 * whose plan the application refuses rest, so that they delay no others.
 */
export function createFillDueTeams(options: EmptyTeamsOptions): () => Promise<ApplicationId[]> {
  const { database, planSelection, logger } = options;
  const resting = new RestingCustomers();

  async function fillAlone(customerId: string): Promise<ApplicationId[]> {
    try {
      return await fillEmptyTeams(database, planSelection, [customerId]);
    } catch (err) {
      if (!(err instanceof DatabaseRefused)) throw err;
      logger.warn({ customerId, err }, 'team not filled');
      resting.add(customerId);
      return [];
    }
  }

  return async () => {
    const due = { limit: BATCH, exceptIds: resting.ids() };
    const customerIds = await readCustomersOfEmptyTeams(database.query, due);
    if (customerIds.length === 0) return [];
    try {
      return await fillEmptyTeams(database, planSelection, customerIds);
    } catch (error) {
      if (!(error instanceof DatabaseRefused)) throw error;
    }
    const teamIds: ApplicationId[] = [];
    for (const customerId of customerIds) teamIds.push(...(await fillAlone(customerId)));
    return teamIds;
  };
}
