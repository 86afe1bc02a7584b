import { openIngestPipeline as openDoorOf } from '../../../src/ingest/open-pipeline.ts';
import type { Ingest } from '../../../src/ingest/pipeline.ts';
import type { Database } from '../../../src/postgres/database.ts';
import { createLogger } from '../../../src/runtime/logging.ts';

type Retrieve = (productId: string) => Promise<string | null>;

/** A door as the server has it: its own memory of names, and no name to be had unless told. */
export function openPipeline(database: Database, retrieve: Retrieve = async () => null): Ingest {
  return openDoorOf({
    database,
    api: { retrieveProductName: retrieve },
    logger: createLogger('silent'),
    now: Date.now,
    planSelection: 'newest',
    maxQueued: 10_000,
  }).ingest;
}
