import { openDoor as openDoorOf } from '../../../src/ingest/open-pipeline.ts';
import type { Accept } from '../../../src/ingest/pipeline.ts';
import type { Database } from '../../../src/postgres/database.ts';
import { createLogger } from '../../../src/runtime/logging.ts';

type Retrieve = (productId: string) => Promise<string | null>;

/** A door as the server has it: its own memory of names, and no name to be had unless told. */
export function openDoor(database: Database, retrieve: Retrieve = async () => null): Accept {
  return openDoorOf({
    database,
    api: { retrieveProductName: retrieve },
    logger: createLogger('silent'),
    now: Date.now,
    choice: 'newest',
    maxQueued: 10_000,
  }).accept;
}
