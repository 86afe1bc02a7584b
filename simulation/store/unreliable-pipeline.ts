import {
  DatabaseBusy,
  DatabaseConflict,
  DatabaseUnavailable,
  type Statement,
} from 'instep-engine/postgres';
import type { PlanSelection } from 'instep-engine/rule';
import { IngestPipeline } from 'instep-engine/src/log/pipeline.ts';
import type { Database } from 'instep-engine/src/postgres/database.ts';
import type { Logger } from 'instep-engine/src/runtime/logging.ts';
import type { Random } from '../random.ts';
import type { SimulatedApi } from './simulated-api.ts';

export type UnreliablePipelineOptions = {
  readonly planSelection: PlanSelection;
  readonly api: SimulatedApi;
  readonly random: Random;
  readonly logger: Logger;
};

/**
 * The probability that a statement or transaction fails before it begins, because the server is unreachable, because rows
 * are locked or because of a conflict, and the probability that its commit is not reported.
 */
const OUTAGE = 0.01;
const LOST_RESPONSE = 0.01;

const MAX_QUEUED = 100_000;

/** Opens an ingest pipeline on connections that break, with the simulated API. */
export function openUnreliablePipeline(
  database: Database,
  options: UnreliablePipelineOptions,
): IngestPipeline {
  const unreliable = unreliableDatabase(database, options.random);
  return new IngestPipeline({ ...options, database: unreliable, maxQueued: MAX_QUEUED });
}

function unreliableDatabase(database: Database, random: Random): Database {
  async function unreliably<Result>(work: () => Promise<Result>): Promise<Result> {
    if (random.chance(OUTAGE)) throw new DatabaseUnavailable('simulated: no connection');
    if (random.chance(OUTAGE)) throw new DatabaseBusy('simulated: rows are locked');
    if (random.chance(OUTAGE)) throw new DatabaseConflict('simulated: a deadlock');
    const result = await work();
    if (random.chance(LOST_RESPONSE)) throw new DatabaseUnavailable('simulated: response lost');
    return result;
  }
  return {
    ...database,
    run: <Row extends object>(statement: Statement, timeoutMs: number) =>
      unreliably(() => database.run<Row>(statement, timeoutMs)),
    transaction: (work, options) => unreliably(() => database.transaction(work, options)),
  };
}
