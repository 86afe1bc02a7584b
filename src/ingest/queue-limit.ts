export type QueueLimitOptions = {
  /** Never more than so many, whatever they take. */
  readonly maxQueued: number;
  /** How long the last one in the queue should wait at most. */
  readonly maxWaitMs: number;
};

/** A smaller batch tells more of what any batch costs than of what one more item does. */
const TELLING_SIZE = 32;

/** So many may always wait: enough for batches that tell when it goes faster again. */
const MIN_QUEUED = 64;

/** How much less each earlier batch counts. */
const FADING = 0.5;

/** What is taken for granted until a batch has told better. */
const PRESUMED = { items: 1_000, tookMs: 500 };

/** How many may wait, so that the last of them has its turn in time; learnt from the batches. */
export class QueueLimit {
  readonly #options: QueueLimitOptions;
  #items = PRESUMED.items;
  #tookMs = PRESUMED.tookMs;

  constructor(options: QueueLimitOptions) {
    this.#options = options;
  }

  /** How many may wait now. */
  get count(): number {
    const { maxQueued, maxWaitMs } = this.#options;
    const inTime = Math.round((maxWaitMs * this.#items) / Math.max(1, this.#tookMs));
    return Math.min(maxQueued, Math.max(MIN_QUEUED, inTime));
  }

  /** Hears how long a batch of so many took. */
  learn(size: number, tookMs: number): void {
    if (size < TELLING_SIZE) return;
    this.#items = this.#items * FADING + size;
    this.#tookMs = this.#tookMs * FADING + tookMs;
  }
}
