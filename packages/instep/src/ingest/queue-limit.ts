type QueueLimitOptions = {
  /** The upper bound, however fast batches are. */
  maxQueued: number;
  /** The longest time that the last event in the queue should wait. */
  maxWaitMs: number;
};

/** A smaller batch would measure the cost of a batch rather than that of an event. */
const MIN_MEASURED_SIZE = 32;

/** Allows batches that are large enough to measure, so that the limit rises again after a slow phase. */
const MIN_QUEUED = 64;

/** The weight of the earlier batches. */
const DECAY = 0.5;

/** Assumed until a batch has been measured. */
const ASSUMED = { events: 1_000, tookMs: 500 };

/** Learns from the batches how many events can wait and still be stored in time. */
export class QueueLimit {
  #options: QueueLimitOptions;
  #events = ASSUMED.events;
  #tookMs = ASSUMED.tookMs;

  constructor(options: QueueLimitOptions) {
    this.#options = options;
  }

  get count(): number {
    const { maxQueued, maxWaitMs } = this.#options;
    const inTime = Math.round((maxWaitMs * this.#events) / Math.max(1, this.#tookMs));
    return Math.min(maxQueued, Math.max(MIN_QUEUED, inTime));
  }

  learn(batchSize: number, tookMs: number): void {
    if (batchSize < MIN_MEASURED_SIZE) return;
    this.#events = this.#events * DECAY + batchSize;
    this.#tookMs = this.#tookMs * DECAY + tookMs;
  }
}
