import { InstepError } from '../errors.ts';

/** More is waiting than can be done in time: try again later. */
export class QueueFull extends InstepError {
  readonly code = 'QUEUE_FULL';
}

export type BatcherOptions<Item, Result> = {
  /** Does the work for all the items at once; the results in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly maxBatch: number;
  readonly maxQueued: number;
  /** Whether a failed batch may succeed in part when its items are tried one by one. */
  readonly isWorthSplitting?: (error: unknown) => boolean;
};

type Waiting<Item, Result> = {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Natural batches: while one is under way, what arrives meanwhile forms the next. No timers, and
 * no waiting when it is quiet. One batch at a time, in the order of arrival.
 */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  #queue: Waiting<Item, Result>[] = [];
  #underWay = false;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  /** How many wait for their turn. */
  get queued(): number {
    return this.#queue.length;
  }

  /** The item's own result. @throws QueueFull at once when too many are waiting */
  add(item: Item): Promise<Result> {
    if (this.#queue.length >= this.#options.maxQueued) {
      return Promise.reject(new QueueFull(`${this.#queue.length} are waiting already`));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      if (!this.#underWay) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#underWay = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.maxBatch);
      await this.#settle(batch);
    }
    this.#underWay = false;
  }

  async #settle(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.run(batch.map(({ item }) => item));
      for (const [index, result] of results.entries()) batch[index]?.resolve(result);
    } catch (error) {
      if (batch.length > 1 && this.#options.isWorthSplitting?.(error)) {
        for (const one of batch) await this.#settle([one]);
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}
