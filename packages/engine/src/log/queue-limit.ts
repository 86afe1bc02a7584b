/**
 * The longest time that the last event in the queue should wait for its batch. That batch takes about as long, so an
 * admitted event is stored within a second.
 */
const MAX_WAIT_MS = 300;

/** A smaller batch would measure the cost of a batch rather than that of an event. */
const MIN_MEASURED_SIZE = 32;

/** Allows batches that are large enough to measure, so that the limit rises again after a slow phase. */
const MIN_QUEUED = 64;

/** The weight of the earlier batches. */
const DECAY = 0.5;

/** Learns from the batches how many events can wait and still be stored in time. */
export class QueueLimit {
  /** The upper bound, however fast batches are. */
  #maxQueued: number;
  // Assumed until a batch has been measured.
  #events = 1_000;
  #tookMs = 500;

  constructor(maxQueued: number) {
    this.#maxQueued = maxQueued;
  }

  get count(): number {
    return Math.min(this.#maxQueued, Math.max(MIN_QUEUED, this.#storedWithin(MAX_WAIT_MS)));
  }

  /** How many events a batch can have that should take no longer than this. */
  batchSizeFor(timeMs: number): number {
    return Math.max(MIN_MEASURED_SIZE, this.#storedWithin(timeMs));
  }

  #storedWithin(timeMs: number): number {
    return Math.round((timeMs * this.#events) / Math.max(1, this.#tookMs));
  }

  learn(batchSize: number, tookMs: number): void {
    if (batchSize < MIN_MEASURED_SIZE) return;
    this.#events = this.#events * DECAY + batchSize;
    this.#tookMs = this.#tookMs * DECAY + tookMs;
  }
}
