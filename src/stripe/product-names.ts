/** Where names come from, nearest first. Memory stands before both. */
export type ProductNameSources = {
  /** Our own table. */
  readonly recall: (productId: string) => Promise<string | null>;
  readonly remember: (productId: string, name: string) => Promise<void>;
  /** Stripe's API; bounded in time by whoever provides it. */
  readonly retrieve: (productId: string) => Promise<string | null>;
  readonly onRetrieveError: (productId: string, error: unknown) => void;
};

export type ProductNames = {
  /** The name of a product, or `null` when there is none to be had now. */
  nameOf(productId: string): Promise<string | null>;
};

type Remembered = { readonly name: string | null; readonly untilMs: number };

const MAX_REMEMBERED = 10_000;

/** Products are renamed: another instance may know the new name by then. */
const NAME_LIFETIME_MS = 60 * 60 * 1_000;

/** Until then events do not wait for an answer again that did not come. */
const MISSING_LIFETIME_MS = 30 * 1_000;

/**
 * Finds the names of products: memory, our table, Stripe's API, one look-up at a time for a
 * product. Stripe's API being slow or down costs a name and nothing else. `now` in milliseconds.
 */
export function createProductNames(sources: ProductNameSources, now: () => number): ProductNames {
  const remembered = new Map<string, Remembered>();
  const underWay = new Map<string, Promise<string | null>>();

  async function lookUp(productId: string): Promise<string | null> {
    const recalled = await sources.recall(productId);
    if (recalled !== null) return recalled;
    const name = await sources.retrieve(productId).catch((error: unknown) => {
      sources.onRetrieveError(productId, error);
      return null;
    });
    if (name !== null) await sources.remember(productId, name);
    return name;
  }

  function keep(productId: string, name: string | null): void {
    const [oldest] = remembered.keys();
    if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    const lifetimeMs = name === null ? MISSING_LIFETIME_MS : NAME_LIFETIME_MS;
    remembered.set(productId, { name, untilMs: now() + lifetimeMs });
  }

  async function lookUpAndKeep(productId: string): Promise<string | null> {
    try {
      const name = await lookUp(productId);
      keep(productId, name);
      return name;
    } finally {
      underWay.delete(productId);
    }
  }

  return {
    async nameOf(productId) {
      const known = remembered.get(productId);
      if (known !== undefined && now() < known.untilMs) return known.name;
      const lookUpUnderWay = underWay.get(productId) ?? lookUpAndKeep(productId);
      underWay.set(productId, lookUpUnderWay);
      return await lookUpUnderWay;
    },
  };
}
