import type { Query } from '../postgres/database.ts';
import { readFreshNames, readProductsToLookUp, writeProductName } from '../queries/products.ts';
import { renamePlans } from '../queries/teams.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';

export type NamesOptions = {
  readonly query: Query;
  readonly retrieveProductName: StripeApi['retrieveProductName'];
  readonly logger: Logger;
};

const BATCH = 100;

/**
 * Looks up the products that have no name, checks daily whether the others were renamed, and writes
 * the names to the teams.
 */
export async function lookUpProductNames(
  { query, retrieveProductName, logger }: NamesOptions,
  signal: AbortSignal,
): Promise<void> {
  async function writeToTeams(id: string, name: string, formerName: string | null): Promise<void> {
    const teamIds = await renamePlans(query, { id, name, formerName });
    if (teamIds.length > 0) logger.info({ productId: id, teamIds }, 'plan named');
  }

  for (const { productId, name } of await readFreshNames(query)) {
    await writeToTeams(productId, name, null);
  }
  for (const productId of await readProductsToLookUp(query, BATCH)) {
    if (signal.aborted) return;
    const name = await retrieveProductName(productId, signal);
    const formerName = await writeProductName(query, productId, name);
    if (name !== null) await writeToTeams(productId, name, formerName);
  }
}
