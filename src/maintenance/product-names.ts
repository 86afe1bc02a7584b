import type { Query } from '../postgres/database.ts';
import { DatabaseRefused } from '../postgres/errors.ts';
import {
  applyProductName,
  giveUpName,
  noteAppliedName,
  readProductsToLookUp,
  readUnappliedNames,
  writeProductName,
} from '../queries/products.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';

type NamesOptions = {
  readonly query: Query;
  readonly retrieveProductName: StripeApi['retrieveProductName'];
  readonly logger: Logger;
};

const LOOKUPS = 100;

/** Few enough that no webhook waits long for a team whose plan is being renamed. */
const TEAMS = 100;

/**
 * Looks up products without a name, checks daily whether the others were renamed, and writes the names to the
 * teams.
 */
export async function lookUpProductNames(
  { query, retrieveProductName, logger }: NamesOptions,
  signal: AbortSignal,
): Promise<void> {
  async function applyName(productId: string): Promise<void> {
    for (;;) {
      const teamIds = await applyProductName(query, productId, TEAMS);
      if (teamIds.length > 0) logger.info({ productId, teamIds }, 'plan named');
      if (teamIds.length < TEAMS || signal.aborted) break;
    }
    await noteAppliedName(query, productId);
  }

  for (const productId of await readProductsToLookUp(query, LOOKUPS)) {
    if (signal.aborted) return;
    await writeProductName(query, productId, await retrieveProductName(productId, signal));
  }
  for (const { productId, name } of await readUnappliedNames(query)) {
    if (signal.aborted) return;
    try {
      await applyName(productId);
    } catch (error) {
      if (!(error instanceof DatabaseRefused)) throw error;
      logger.warn({ productId, name, err: error }, 'teams keep their plan name');
      await giveUpName(query, productId);
    }
  }
}
