import type { PlanSelection } from 'instep/src/core/plan-selection.ts';
import type { Ingest } from 'instep/src/ingest/pipeline.ts';
import { IngestPipeline } from 'instep/src/ingest/pipeline.ts';
import type { Database } from 'instep/src/postgres/database.ts';
import { DatabaseBusy, DatabaseUnavailable } from 'instep/src/postgres/errors.ts';
import type { Logger } from 'instep/src/runtime/logging.ts';
import type { Random } from '../random.ts';
import type { SimulatedApi } from './simulated-api.ts';

export type UnreliablePipelineOptions = {
  readonly planSelection: PlanSelection;
  readonly api: SimulatedApi;
  readonly random: Random;
  readonly logger: Logger;
};

/**
 * The probability that a transaction fails before it begins, because the server is unreachable or
 * because rows are locked, and the probability that its commit is not reported.
 */
const OUTAGE = 0.01;
const LOST_RESPONSE = 0.01;

const MAX_QUEUED = 100_000;

/** Opens an ingest pipeline on connections that break, with the simulated API. */
export function openUnreliablePipeline(
  database: Database,
  options: UnreliablePipelineOptions,
): Ingest {
  const unreliable = unreliableDatabase(database, options.random);
  return new IngestPipeline({ ...options, database: unreliable, maxQueued: MAX_QUEUED }).ingest;
}

function unreliableDatabase(database: Database, random: Random): Database {
  return {
    ...database,
    async transaction(work) {
      if (random.chance(OUTAGE)) throw new DatabaseUnavailable('simulated: no connection');
      if (random.chance(OUTAGE)) throw new DatabaseBusy('simulated: rows are locked');
      const result = await database.transaction(work);
      if (random.chance(LOST_RESPONSE)) throw new DatabaseUnavailable('simulated: response lost');
      return result;
    },
  };
}
