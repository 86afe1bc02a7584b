import type { Database } from '../../src/database/database.ts';
import { createLogger } from '../../src/logging.ts';
import type { Accept } from '../../src/sync/door.ts';
import { openDoor as openDoorOf } from '../../src/sync/open-door.ts';

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
