/** An object as the API shows it. */
export type ApiObject = {
  readonly id: string;
  /** In whole seconds since 1970. */
  readonly created?: number;
  readonly customer?: unknown;
  readonly status?: unknown;
  readonly type?: unknown;
};

/** The objects of one kind. They may change at any time, while a list of them is read as well. */
export class Collection {
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

  /** Adds an object, or puts it in the place of the one with its id. */
  set(object: ApiObject): void {
    this.#objects.set(object.id, object);
    this.#newestFirst = null;
  }

  delete(id: string): void {
    this.#objects.delete(id);
    this.#newestFirst = null;
  }

  /** As the API lists them: by `created`, the newest first; of one second the last one first. */
  newestFirst(): readonly ApiObject[] {
    this.#newestFirst ??= [...this.#objects.values()]
      .reverse()
      .sort((one, other) => (other.created ?? 0) - (one.created ?? 0));
    return this.#newestFirst;
  }
}
