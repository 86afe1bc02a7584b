/** An object as Stripe's API returns it. */
export type ApiObject = {
  readonly id: string;
  /** In whole seconds since 1970. */
  readonly created?: number;
  readonly customer?: unknown;
  readonly status?: unknown;
  readonly type?: unknown;
};

/** The API's objects of one kind. They can change at any time, even while a list of them is read. */
export class ApiCollection {
  readonly #objects = new Map<string, ApiObject>();
  #newestFirst: readonly ApiObject[] | null = null;

  constructor(objects: Iterable<ApiObject> = []) {
    for (const object of objects) this.#objects.set(object.id, object);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(id: string): ApiObject | undefined {
    return this.#objects.get(id);
  }

  /** Adds an object, or replaces the one with its id. */
  set(object: ApiObject): void {
    this.#objects.set(object.id, object);
    this.#newestFirst = null;
  }

  delete(id: string): void {
    this.#objects.delete(id);
    this.#newestFirst = null;
  }

  /** In the API's order: by `created`, and within one second the last one added first. */
  newestFirst(): readonly ApiObject[] {
    this.#newestFirst ??= [...this.#objects.values()]
      .reverse()
      .sort((one, other) => (other.created ?? 0) - (one.created ?? 0));
    return this.#newestFirst;
  }
}
