import { readTeamsOfDueGrants, settleGrant } from '../access/grants.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { Database } from '../postgres/database.ts';
import { isOfOneEvent } from '../postgres/errors.ts';
import type { Logger } from '../runtime/logging.ts';
import { type Job, RestingCustomers } from './worker.ts';

type GrantsJobOptions = {
  database: Database;
  planSelection: PlanSelection;
  logger: Logger;
  /** Limits how often the grants are read. Returns `null` when it is another instance's turn. */
  inTurn?: (read: () => Promise<string[]>) => Promise<string[] | null>;
  /** How long a team rests. */
  restMs?: number;
};

const BATCH = 200;

/** Makes rows follow their teams' grants, such as when the end of a grant has come. */
export function createGrantsJob(options: GrantsJobOptions): Job['run'] {
  const { database, planSelection, logger, inTurn = (read) => read(), restMs } = options;
  const resting = new RestingCustomers(restMs);

  /** A team that did not change rests, so that it delays no others. */
  async function settle(teamId: string): Promise<void> {
    try {
      if (!(await settleGrant(database, teamId, planSelection))) resting.add(teamId);
      else logger.info({ teamId }, 'team follows its grant');
    } catch (err) {
      if (!isOfOneEvent(err)) throw err;
      logger.warn({ teamId, err }, 'team does not follow its grant');
      resting.add(teamId);
    }
  }

  return async (signal) => {
    const due = { limit: BATCH, exceptIds: resting.ids() };
    const teamIds = (await inTurn(() => readTeamsOfDueGrants(database.query, due))) ?? [];
    for (const teamId of teamIds) {
      if (signal.aborted) return;
      await settle(teamId);
    }
  };
}
