import type { Query } from '../postgres/database.ts';
import { readFreshNames, readProductsToLookUp, writeProductName } from '../queries/products.ts';
import { renamePlans } from '../queries/teams.ts';
import type { Logger } from '../runtime/logging.ts';

export type NamesOptions = {
  readonly query: Query;
  readonly retrieveProductName: (productId: string) => Promise<string | null>;
  readonly logger: Logger;
};

const BATCH = 100;

/**
 * Finds the names of products that have none, looks daily whether one was renamed, and gives the
 * names to the teams.
 */
export async function lookUpProductNames(
  { query, retrieveProductName, logger }: NamesOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const { productId, name } of await readFreshNames(query)) {
    await give(productId, name, null);
  }
  for (const productId of await readProductsToLookUp(query, BATCH)) {
    if (signal.aborted) return;
    const name = await retrieveProductName(productId);
    const formerName = await writeProductName(query, productId, name);
    if (name !== null) await give(productId, name, formerName);
  }

  async function give(id: string, name: string, formerName: string | null): Promise<void> {
    const teamIds = await renamePlans(query, { id, name, formerName });
    if (teamIds.length > 0) logger.info({ productId: id, teamIds }, 'plan named');
  }
}
