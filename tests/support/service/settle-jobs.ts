import { createLogger } from 'instep';
import {
  createSettleJob,
  readCustomersOfParkedEvents,
} from 'instep-engine/src/repair/parked-events.ts';
import { nameTeams, readNamelessCustomers } from 'instep-engine/src/repair/plan-names.ts';
import type { Database } from '../internals/database.ts';
import type { Settle } from '../internals/ingest.ts';
import { readEmptyTeams } from '../internals/rows.ts';
import { openWholePipeline } from './pipelines.ts';

type JobOptions = {
  readonly settle?: Settle;
  readonly againAfterMs?: number;
};

/** The jobs that settle customers, as one instance runs them. They have no lease, so they run whenever a test wants. */
export function openSettleJobs(database: Database, options: JobOptions = {}) {
  const settling = {
    settle: openWholePipeline(database).settle,
    logger: createLogger('silent'),
    ...options,
  };
  return {
    parkedEvents: createSettleJob({
      ...settling,
      find: (page) => readCustomersOfParkedEvents(database.query, page),
    }),
    emptyTeams: createSettleJob({
      ...settling,
      find: (page) => readEmptyTeams(database.query, page),
    }),
    planNames: createSettleJob({
      ...settling,
      settle: (customerId) => nameTeams(database, customerId, 'newest'),
      find: (page) => readNamelessCustomers(database.query, page),
    }),
  };
}
