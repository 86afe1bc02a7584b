import type { Database } from '../../database/database.ts';
import type { Logger } from '../../logging.ts';
import { readProductName, writeProductName } from '../../store/products.ts';
import { createProductNames } from '../../stripe/product-names.ts';
import type { TeamPlanChoice } from '../../subscriptions/team-plan.ts';
import { type Accept, createDoor } from '../../sync/door.ts';
import type { Random } from '../random.ts';
import type { Account } from './account.ts';
import { shakyDatabase } from './shaky-database.ts';

export type StoreDoorOptions = {
  readonly choice: TeamPlanChoice;
  readonly account: Account;
  readonly random: Random;
  readonly logger: Logger;
  readonly now: () => number;
};

/** How often a transaction fails before it begins, and how often after it was committed. */
const OUTAGE = 0.01;
const LOST_ANSWER = 0.01;

/** The one door on connections that break, with the simulated API. */
export function createStoreDoor(pool: Database, options: StoreDoorOptions): Accept {
  const { choice, account, random, logger, now } = options;
  const { accept } = createDoor({
    database: shakyDatabase(pool, { outage: OUTAGE, lostAnswer: LOST_ANSWER, random }),
    productNames: createProductNames(
      {
        recall: (productId) => readProductName(pool.query, productId),
        remember: async (productId, name) => {
          await writeProductName(pool.query, productId, name);
        },
        retrieve: (productId) => account.retrieveProductName(productId),
        onRetrieveError: () => undefined,
      },
      now,
    ),
    logger,
    now,
    choice,
    maxBatch: 500,
    maxQueued: 100_000,
    maxWaitMs: 60_000,
  });
  return accept;
}
