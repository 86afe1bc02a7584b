import type { PlanSelection } from 'instep-engine/rule';
import type { Ingest, Settle } from 'instep-engine/src/log/pipeline.ts';
import type { Database } from 'instep-engine/src/postgres/database.ts';
import { startMaintenance } from 'instep-engine/src/repair/worker.ts';
import type { Summary } from '../level.ts';
import { type CatchUpOptions, createCatchUpJob } from './catch-up-and-reconcile.ts';
import { createPruneJob, maintenanceJobs } from './maintenance-jobs.ts';
import { openUnreliablePipeline, type UnreliablePipelineOptions } from './unreliable-pipeline.ts';

/** Takes events, by its own clock. */
export type Pipeline = {
  readonly ingest: Ingest;
  readonly settle: Settle;
  readonly clockSkewMs: number;
};

/** The processes that accept events and maintain teams on one database. */
export type Fleet = {
  pipelines(planSelection: PlanSelection): readonly Pipeline[];
  /** Maintains the teams of a batch, with all faults of the fleet, until the returned function is called. */
  run(options: CatchUpOptions): () => Promise<void>;
  /** The counts of everything that has happened to it so far. */
  counts(): Pick<Summary, 'promotions' | 'freezes'>;
  close(): Promise<void>;
};

export type FleetOptions = Omit<UnreliablePipelineOptions, 'planSelection'> & {
  readonly open: () => Database;
};

/** Several ingest pipelines, each with its own connections, and one worker for maintenance. */
export function openPipelines(count: number, { open, ...options }: FleetOptions): Fleet {
  const pools = Array.from({ length: count }, open);
  const pipelines = (planSelection: PlanSelection) =>
    pools.map((pool) => {
      const { ingest, settle } = openUnreliablePipeline(pool, { ...options, planSelection });
      return { ingest, settle, clockSkewMs: 0 };
    });
  const of = { newest: pipelines('newest'), best: pipelines('best') };
  return {
    pipelines: (planSelection) => of[planSelection],
    run(batch) {
      const jobs = [...maintenanceJobs(batch), createPruneJob(batch), createCatchUpJob(batch)];
      const worker = startMaintenance(async () => jobs, batch);
      return () => worker.stop();
    },
    counts: () => ({ promotions: 0, freezes: 0 }),
    async close() {
      await Promise.all(pools.map((pool) => pool.close()));
    },
  };
}
