import type { Database } from '../../src/database/database.ts';
import { createLogger } from '../../src/logging.ts';
import { readProductName, writeProductName } from '../../src/store/products.ts';
import { createProductNames } from '../../src/stripe/product-names.ts';
import { type Accept, createDoor } from '../../src/sync/door.ts';

type Retrieve = (productId: string) => Promise<string | null>;

/** A door as the server has it: its own memory of names, and no name to be had unless told. */
export function openDoor(database: Database, retrieve: Retrieve = async () => null): Accept {
  const sources = {
    recall: (productId: string) => readProductName(database.query, productId),
    remember: async (productId: string, name: string) => {
      await writeProductName(database.query, productId, name);
    },
    retrieve,
    onRetrieveError: () => undefined,
  };
  const { accept } = createDoor({
    database,
    productNames: createProductNames(sources, Date.now),
    logger: createLogger('silent'),
    now: Date.now,
    choice: 'newest',
    maxBatch: 500,
    maxQueued: 10_000,
    maxWaitMs: 60_000,
  });
  return accept;
}
