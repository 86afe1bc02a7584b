// Which products the names of plans mean, where a table has neither a product nor a price: most rows decide.

/** What apps call having no plan. */
const NO_PLAN = /^(?:free|none)$/i;

export class PlanNames {
  readonly #declared: ReadonlyMap<string, readonly string[]>;
  /** For each name, how many rows pay for each product. */
  readonly #rows = new Map<string, Map<string, number>>();

  /** The products of some names are declared, none for one that means no plan. */
  constructor(declared: ReadonlyMap<string, readonly string[]>) {
    this.#declared = declared;
  }

  count(name: string, productId: string): void {
    const products = this.#rows.get(name) ?? new Map<string, number>();
    this.#rows.set(name, products.set(productId, (products.get(productId) ?? 0) + 1));
  }

  /** The products that a name means, none if it means no plan; `null`: nobody who has it pays. */
  productsOf(name: string): readonly string[] | null {
    const declared = this.#declared.get(name) ?? (NO_PLAN.test(name) ? [] : undefined);
    if (declared !== undefined) return declared;
    const [most] = [...(this.#rows.get(name) ?? [])].sort(
      ([id, rows], [otherId, others]) => others - rows || (id < otherId ? -1 : 1),
    );
    return most === undefined ? null : [most[0]];
  }

  /** The products of each name of those who pay. */
  paidFor(): (readonly [name: string, productIds: readonly string[]])[] {
    return [...this.#rows.keys()].sort().map((name) => [name, this.productsOf(name) ?? []]);
  }
}
