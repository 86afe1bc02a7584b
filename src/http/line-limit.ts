export type LineLimitOptions = {
  /** In milliseconds, since whenever. */
  readonly now: () => number;
  readonly intervalMs: number;
};

/** Keeps a flood out of the log: lets one line through in each interval, and counts the others. */
export class LineLimit {
  readonly #options: LineLimitOptions;
  #nextAtMs = Number.NEGATIVE_INFINITY;
  #leftOut = 0;

  constructor(options: LineLimitOptions) {
    this.#options = options;
  }

  /** How many lines were left out before this one, or `null` when this one is left out as well. */
  next(): number | null {
    const nowMs = this.#options.now();
    if (nowMs < this.#nextAtMs) {
      this.#leftOut += 1;
      return null;
    }
    const leftOut = this.#leftOut;
    this.#nextAtMs = nowMs + this.#options.intervalMs;
    this.#leftOut = 0;
    return leftOut;
  }
}
