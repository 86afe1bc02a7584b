import type { ApplicationId } from '../core/application.ts';
import type { Database } from '../postgres/database.ts';
import { canOthersSucceed, DatabaseBusy } from '../postgres/errors.ts';
import type { Examined } from '../postgres/examine.ts';
import {
  applyProductName,
  readProductsToLookUp,
  readTeamsToName,
  readUnappliedNames,
  storeAppliedName,
  type UnappliedName,
  writeProductName,
} from '../postgres/statements/products.ts';
import type { Logger } from '../runtime/logging.ts';
import { throttle } from '../runtime/retry.ts';
import type { StripeApi } from '../stripe/api.ts';
import { isRefusedByStripe } from '../stripe/api-failure.ts';

type NamesOptions = {
  database: Pick<Database, 'query' | 'transaction'>;
  retrieveProductName: StripeApi['retrieveProductName'];
  logger: Logger;
};

const LOOKUPS = 100;

/** Few enough that no webhook waits long for a team whose plan is being renamed. */
const TEAMS = 100;

/** All teams are read, page by page, in at most this share of the time, so that other work comes first. */
const SHARE = 0.05;

/** While the trigger of one of several teams waits, the others are locked. */
const SEVERAL_TIMEOUT_MS = 500;

/**
 * Looks up products without a name, checks daily whether the others were renamed, and writes the names to the
 * teams.
 */
export async function lookUpProductNames(
  { database, retrieveProductName, logger }: NamesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { query } = database;

  /** Team by team after a failure, so that one team keeps no other without the name. Returns how many are to be tried again. */
  async function applyTo(
    teamIds: readonly ApplicationId[],
    product: UnappliedName,
  ): Promise<number> {
    const { productId, name } = product;
    try {
      const timeoutMs = teamIds.length > 1 ? SEVERAL_TIMEOUT_MS : undefined;
      const named = await database.transaction(
        (query) => applyProductName(query, productId, teamIds),
        { timeoutMs },
      );
      if (named.length > 0) logger.info({ productId, teamIds: named }, 'plan named');
      return teamIds.length - named.length;
    } catch (err) {
      if (!canOthersSucceed(err)) throw err;
      if (teamIds.length === 1) {
        logger.warn({ productId, name, teamId: teamIds[0], err }, 'team keeps its plan name');
        return err instanceof DatabaseBusy ? 1 : 0;
      }
      let left = 0;
      for (const teamId of teamIds) left += await applyTo([teamId], product);
      return left;
    }
  }

  async function applyName(product: UnappliedName): Promise<void> {
    let left = 0;
    let afterId: ApplicationId | null = null;
    do {
      const startedAtMs = performance.now();
      const page: Examined<ApplicationId> = await readTeamsToName(
        query,
        product.productId,
        afterId,
      );
      for (let first = 0; first < page.found.length; first += TEAMS) {
        left += await applyTo(page.found.slice(first, first + TEAMS), product);
        if (signal.aborted) return;
      }
      afterId = page.examinedTo;
      if (afterId !== null) await throttle({ startedAtMs, share: SHARE }, signal);
    } while (afterId !== null);
    if (left === 0 && product.isSettled) await storeAppliedName(query, product);
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
    for (const product of await readUnappliedNames(query)) {
      if (signal.aborted) return;
      await applyName(product);
    }
  }

  // Known names do not wait for a Stripe that fails.
  await lookUpNames().finally(applyNames);
}
