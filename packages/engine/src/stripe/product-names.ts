// Looks up a product's name while an event waits for it, in memory first. The ingest pipeline has one.

import { BoundedCache } from '../runtime/bounded-cache.ts';

/** The sources of product names, nearest first. A cache in memory comes before both. */
type ProductNameSources = {
  readStored: (productId: string) => Promise<string | null>;
  store: (productId: string, name: string) => Promise<void>;
  /** So that maintenance asks for the name later. */
  storeNameless: (productId: string) => Promise<void>;
  /** Stripe's API; limited in time. */
  retrieve: (productId: string) => Promise<string | null>;
  onRetrieveError: (productId: string, error: unknown) => void;
};

/** The name of a product, or `null` when none is available now. */
export type NameOf = (productId: string) => Promise<string | null>;

const MAX_CACHED = 10_000;

/**
 * How long the result of a lookup is remembered: a name, because another instance can learn a newer one; and a
 * missing one, so that events don't wait for Stripe again.
 */
const LIFETIME_MS = 30 * 1_000;

/**
 * Looks up product names in memory, in our table and at Stripe, one lookup at a time for each
 * product. When Stripe's API is slow or down, only the name is missing.
 */
export function createNameLookup(sources: ProductNameSources): NameOf {
  const cache = new BoundedCache<string, { name: string | null; untilMs: number }>(MAX_CACHED);
  const inFlight = new Map<string, Promise<string | null>>();

  async function lookUp(productId: string): Promise<string | null> {
    const stored = await sources.readStored(productId);
    if (stored !== null) return stored;
    const name = await sources.retrieve(productId).catch((error: unknown) => {
      sources.onRetrieveError(productId, error);
      return null;
    });
    await (name === null ? sources.storeNameless(productId) : sources.store(productId, name));
    return name;
  }

  async function lookUpAndCache(productId: string): Promise<string | null> {
    try {
      const name = await lookUp(productId);
      cache.set(productId, { name, untilMs: performance.now() + LIFETIME_MS });
      return name;
    } finally {
      inFlight.delete(productId);
    }
  }

  return async (productId) => {
    const cached = cache.get(productId);
    if (cached !== undefined && performance.now() < cached.untilMs) return cached.name;
    const lookup = inFlight.get(productId) ?? lookUpAndCache(productId);
    inFlight.set(productId, lookup);
    return await lookup;
  };
}
