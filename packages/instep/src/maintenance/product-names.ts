import type { ApplicationId } from '../core/application-id.ts';
import type { Query } from '../postgres/database.ts';
import { DatabaseRefused } from '../postgres/errors.ts';
import {
  applyProductName,
  giveUpName,
  noteAppliedName,
  readProductsToLookUp,
  readUnappliedNames,
  writeProductName,
} from '../postgres/statements/products.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';

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
    let formerIds: readonly ApplicationId[] = [];
    for (;;) {
      const teamIds = await applyProductName(query, productId, TEAMS);
      if (teamIds.length > 0) logger.info({ productId, teamIds }, 'plan named');
      // A trigger of the application can have kept the former name.
      const isRepeated = teamIds.some((teamId) => formerIds.includes(teamId));
      if (teamIds.length < TEAMS || isRepeated || signal.aborted) break;
      formerIds = teamIds;
    }
    await noteAppliedName(query, productId);
  }

  async function lookUp(productId: string): Promise<string | null> {
    try {
      return await retrieveProductName(productId, signal);
    } catch (err) {
      // Stripe refuses the id. The other products are still looked up.
      if (!isRefusedByStripe(err)) throw err;
      logger.warn({ productId, err }, 'product name lookup failed');
      return null;
    }
  }

  async function lookUpNames(): Promise<void> {
    for (const productId of await readProductsToLookUp(query, LOOKUPS)) {
      if (signal.aborted) return;
      await writeProductName(query, productId, await lookUp(productId));
    }
  }

  async function applyNames(): Promise<void> {
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

  // Known names do not wait for a Stripe that fails.
  await lookUpNames().finally(applyNames);
}
