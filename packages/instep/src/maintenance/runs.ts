import type { Query } from '../postgres/database.ts';
import { noteRun } from '../queries/runs.ts';
import { VERSION } from '../runtime/version.ts';
import type { Job } from './worker.ts';

/** Shorter than the time after which an instance counts as down, so that one delay is not an outage. */
const INTERVAL_MS = 20_000;

/** Records when this instance was running, so that the charts show starts, deploys and outages. */
export function createRunsJob(query: Query): Job {
  let runId: string | null = null;
  return {
    name: 'runs',
    intervalMs: INTERVAL_MS,
    run: async () => {
      runId = await noteRun(query, { runId, version: VERSION });
    },
  };
}
