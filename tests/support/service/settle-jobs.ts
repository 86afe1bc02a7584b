import { createLogger } from 'instep';
import { createSettleJobs } from 'instep-engine/src/repair/settle-jobs.ts';
import type { Database } from '../internals/database.ts';
import type { Settle } from '../internals/ingest.ts';
import { openWholePipeline } from './pipelines.ts';

type JobOptions = {
  readonly settle?: Settle;
  readonly firstRestMs?: number;
};

/** The jobs that settle customers, as one instance runs them: whenever a test wants. */
export function openSettleJobs(database: Database, options: JobOptions = {}) {
  const jobs = createSettleJobs({
    query: database.query,
    settle: openWholePipeline(database).settle,
    logger: createLogger('silent'),
    planSelection: 'newest',
    holder: 'holder',
    dueAfterMs: 0,
    ...options,
  });
  const run = (name: string) => async (signal: AbortSignal) =>
    await jobs.find((job) => job.name === name)?.run(signal);
  return {
    parkedEvents: run('parked-events'),
    emptyTeams: run('empty-teams'),
    planNames: run('plan-names'),
  };
}
