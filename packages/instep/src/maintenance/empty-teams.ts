import type { ApplicationId } from '../core/application.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import { fillEmptyTeams } from '../ingest/apply-batch.ts';
import type { Database } from '../postgres/database.ts';
import { isOfOneEvent } from '../postgres/errors.ts';
import { readCustomersOfEmptyTeams } from '../postgres/statements/teams.ts';
import type { Logger } from '../runtime/logging.ts';
import { RestingCustomers } from './resting.ts';

type EmptyTeamsOptions = {
  database: Database;
  planSelection: PlanSelection;
  logger: Logger;
  /** Limits how often the teams are read. Returns `null` when it is another instance's turn. */
  inTurn?: (read: () => Promise<string[]>) => Promise<string[] | null>;
};

const BATCH = 200;

/**
 * Returns a function that fills teams with empty plan columns, and returns the ids of up to 200 teams. Customers
 * whose teams can't be filled rest, so that they delay no others.
 */
export function createFillDueTeams(options: EmptyTeamsOptions): () => Promise<ApplicationId[]> {
  const { database, planSelection, logger, inTurn = (read) => read() } = options;
  const resting = new RestingCustomers();

  async function fillAlone(customerId: string): Promise<ApplicationId[]> {
    try {
      return await fillEmptyTeams(database, planSelection, [customerId]);
    } catch (err) {
      if (!isOfOneEvent(err)) throw err;
      logger.warn({ customerId, err }, 'team not filled');
      resting.add(customerId);
      return [];
    }
  }

  return async () => {
    const due = { limit: BATCH, exceptIds: resting.ids() };
    // A turn is as long as the reads only: a slow write of one team must not delay the next turn.
    const read = () => readCustomersOfEmptyTeams(database.query, due);
    const customerIds = (await inTurn(read)) ?? [];
    if (customerIds.length > 1) {
      try {
        return await fillEmptyTeams(database, planSelection, customerIds);
      } catch (error) {
        if (!isOfOneEvent(error)) throw error;
      }
    }
    const teamIds: ApplicationId[] = [];
    for (const customerId of customerIds) teamIds.push(...(await fillAlone(customerId)));
    return teamIds;
  };
}
