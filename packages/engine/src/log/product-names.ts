// Looks up a product's name while an event waits for it: in memory, in our table, and at Stripe.

import type { Query } from '../postgres/database.ts';
import {
  readProductNames,
  storeNamelessProducts,
  writeProductName,
} from '../postgres/statements/products.ts';
import { BoundedCache } from '../runtime/bounded-cache.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';

/** The name of a product, or `null` when none is available now. */
export type NameOf = (productId: string) => Promise<string | null>;

const MAX_CACHED = 10_000;

/**
 * How long the result of a lookup is remembered: a name, because another instance can learn a newer one; and a
 * missing one, so that events don't wait for Stripe again.
 */
const LIFETIME_MS = 30 * 1_000;

/** One lookup at a time for each product. When Stripe's API is slow or down, only the name is missing. */
export function createNameLookup(
  query: Query,
  api: Pick<StripeApi, 'retrieveProductName'>,
  logger: Logger,
): NameOf {
  const lookups = new BoundedCache<string, { name: Promise<string | null>; untilMs: number }>(
    MAX_CACHED,
  );

  async function lookUp(productId: string): Promise<string | null> {
    const stored = (await readProductNames(query, [productId])).get(productId);
    if (stored !== undefined) return stored;
    const name = await api.retrieveProductName(productId).catch((err: unknown) => {
      logger.warn({ productId, err }, 'product name lookup failed');
      return null;
    });
    // Without one, maintenance asks for it later.
    if (name === null) await storeNamelessProducts(query, [productId]);
    else await writeProductName(query, productId, name);
    return name;
  }

  return async (productId) => {
    const known = lookups.get(productId);
    if (known !== undefined && performance.now() < known.untilMs) return await known.name;
    const lookup = { name: lookUp(productId), untilMs: Number.POSITIVE_INFINITY };
    lookups.set(productId, lookup);
    try {
      const name = await lookup.name;
      lookup.untilMs = performance.now() + LIFETIME_MS;
      return name;
    } catch (error) {
      lookups.delete(productId);
      throw error;
    }
  };
}
