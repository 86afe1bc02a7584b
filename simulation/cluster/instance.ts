import type { PlanSelection } from 'instep-engine/rule';
import type { Database, Query } from 'instep-engine/src/postgres/database.ts';
import { catchUp } from 'instep-engine/src/repair/catch-up.ts';
import { withLease } from 'instep-engine/src/repair/lease.ts';
import { type Job, startMaintenance } from 'instep-engine/src/repair/worker.ts';
import {
  BEFORE_ALL_MS,
  CATCH_UP_INTERVAL_MS,
  type CatchUpOptions,
  isUnfinished,
} from '../store/catch-up-and-reconcile.ts';
import type { FleetOptions, Pipeline } from '../store/fleet.ts';
import { createPruneJob, maintenanceJobs } from '../store/maintenance-jobs.ts';
import { openUnreliablePipeline } from '../store/unreliable-pipeline.ts';
import { FreezableProcess } from './freezable-process.ts';

/** Each clock differs from the true time by up to this. */
const MAX_CLOCK_SKEW_MS = 30_000;

const EXPIRE_LEASES = `
  update instep.leased_jobs
     set held_until = '-infinity'
   where holder = $1`;

/** One of several instances on a database, with a clock, connections, ingest and maintenance of its own. */
export class Instance {
  readonly #process = new FreezableProcess();
  readonly #name: string;
  readonly #database: Database;
  readonly #clockSkewMs: number;
  readonly #pipelines: Readonly<Record<PlanSelection, Pipeline>>;

  constructor(name: string, { open, ...options }: FleetOptions) {
    this.#name = name;
    this.#database = this.#process.uses(open());
    this.#clockSkewMs = Math.round((options.random.next() * 2 - 1) * MAX_CLOCK_SKEW_MS);
    const database = this.#database;
    const pipeline = (planSelection: PlanSelection): Pipeline => {
      const { ingest, settle } = openUnreliablePipeline(database, { ...options, planSelection });
      return { ingest, settle, clockSkewMs: this.#clockSkewMs };
    };
    this.#pipelines = { newest: pipeline('newest'), best: pipeline('best') };
  }

  pipeline(planSelection: PlanSelection): Pipeline {
    return this.#pipelines[planSelection];
  }

  /** Maintains the teams until the returned function is called. */
  maintain(options: CatchUpOptions): () => Promise<void> {
    const { api, now, planSelection } = options;
    const { ingest, settle } = this.#pipelines[planSelection];
    const calls = this.#process;
    const own: CatchUpOptions = {
      ...options,
      database: this.#database,
      query: this.#database.query,
      ...{ ingest, settle },
      now: () => now() + this.#clockSkewMs,
      api: {
        retrieveSubscription: calls.whenAwake(api.retrieveSubscription),
        retrieveProductName: calls.whenAwake(api.retrieveProductName),
        listEvents: calls.whenAwake(api.listEvents),
      },
    };
    const jobs = [...maintenanceJobs(own), createPruneJob(own), this.#createCatchUpJob(own)];
    const worker = startMaintenance(async () => jobs, own);
    return () => worker.stop();
  }

  /** Freezes the instance, and lets its leases expire meanwhile. */
  async freeze(query: Query, work: () => Promise<void>): Promise<void> {
    const goOn = this.#process.freeze();
    try {
      await query(EXPIRE_LEASES, [this.#name]);
      await work();
    } finally {
      goOn();
    }
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  /** Catch-up in one instance at a time. Every world has its own clock, so each run reads the whole list. */
  #createCatchUpJob(options: CatchUpOptions): Job {
    const { query, api } = options;
    const { listEvents } = api;
    const lease = { name: 'catch-up', holder: this.#name, dueAfterMs: 0 };
    return {
      name: lease.name,
      intervalMs: CATCH_UP_INTERVAL_MS,
      async run(signal) {
        await withLease(query, lease, (run) =>
          catchUp(
            {
              ...run,
              saveProgress: (progress) => run.saveProgress(isUnfinished(progress) ? progress : {}),
            },
            { ...options, listEvents, now: () => BEFORE_ALL_MS },
            signal,
          ),
        );
      },
    };
  }
}
