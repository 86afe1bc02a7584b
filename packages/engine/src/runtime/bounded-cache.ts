/** A cache of limited size, which evicts the least recently used entry. */
export class BoundedCache<Key, Value> {
  #maxEntries: number;
  /** A map iterates in the order of insertion, so its first entry is the least recently used one. */
  #entries = new Map<Key, Value>();

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const leastRecent of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) return;
      this.#entries.delete(leastRecent);
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}
