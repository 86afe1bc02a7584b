import { readTeamsOfDueGrants, settleGrant } from '../access/grants.ts';
import type { PlanSelection } from '../core/plan-selection.ts';
import type { Database } from '../postgres/database.ts';
import type { Logger } from '../runtime/logging.ts';
import { type Job, RetryLater } from './worker.ts';

type GrantsJobOptions = {
  database: Database;
  planSelection: PlanSelection;
  logger: Logger;
  /** Limits how often the grants are read. Returns `null` when it is another instance's turn. */
  inTurn?: (read: () => Promise<string[]>) => Promise<string[] | null>;
  /** After how long a team that did not change is tried again. */
  againAfterMs?: number;
};

const BATCH = 200;

/** Makes rows follow their teams' grants, such as when the end of a grant has come. */
export function createGrantsJob(options: GrantsJobOptions): Job['run'] {
  const {
    database,
    planSelection,
    logger,
    inTurn = (read) => read(),
    againAfterMs: afterMs,
  } = options;
  const later = new RetryLater({ logger, message: 'team does not follow its grant', afterMs });

  return async (signal) => {
    const due = { limit: BATCH, exceptIds: later.ids() };
    const teamIds = (await inTurn(() => readTeamsOfDueGrants(database.query, due))) ?? [];
    for (const teamId of teamIds) {
      if (signal.aborted) return;
      const settle = () => settleGrant(database, teamId, planSelection);
      const isChanged = await later.attempt({ teamId }, settle);
      if (isChanged) logger.info({ teamId }, 'team follows its grant');
      // It delays no others.
      else later.add(teamId);
    }
  };
}
