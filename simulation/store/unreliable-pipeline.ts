import type { PlanSelection } from '../../src/core/plan-selection.ts';
import { openIngestPipeline } from '../../src/ingest/open-pipeline.ts';
import type { Ingest } from '../../src/ingest/pipeline.ts';
import type { Database } from '../../src/postgres/database.ts';
import type { Logger } from '../../src/runtime/logging.ts';
import type { Random } from '../../src/testing/random.ts';
import type { Account } from './simulated-api.ts';
import { shakyDatabase } from './unreliable-database.ts';

export type StoreDoorOptions = {
  readonly planSelection: PlanSelection;
  readonly account: Account;
  readonly random: Random;
  readonly logger: Logger;
  readonly now: () => number;
};

/** How often a transaction fails before it begins, and how often after it was committed. */
const OUTAGE = 0.01;
const LOST_ANSWER = 0.01;

const MAX_QUEUED = 100_000;

/** The one door on connections that break, with the simulated API. */
export function createStoreDoor(pool: Database, options: StoreDoorOptions): Ingest {
  const { account, random } = options;
  const database = shakyDatabase(pool, { outage: OUTAGE, lostAnswer: LOST_ANSWER, random });
  return openIngestPipeline({ ...options, database, api: account, maxQueued: MAX_QUEUED }).ingest;
}
