// Makes batches of what arrives at the same time: events (ingest/pipeline.ts) and lookups of users (server/user.ts).

import { DeadlineExceeded } from './deadline.ts';
import { InstepError } from './errors.ts';
import { activeSpan, inRootSpan, type Span } from './tracing.ts';

/** More items are waiting than can be processed in time: try again later. */
export class QueueFull extends InstepError {
  readonly code = 'QUEUE_FULL';
}

type BatcherOptions<Item, Result> = {
  name: string;
  /** Processes all items at once. The results have the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>;
  maxBatch: number;
  maxQueued: number;
  /** How many batches run at the same time; one when left out. */
  atOnce?: number;
  /** An item that has waited longer is dropped, because its caller has given up. */
  timeoutMs?: number;
  /**
   * Whether the next batch sends its first statements before the items of the last one are answered, so that
   * the database works meanwhile. This makes batches smaller, so it only pays if they take long there.
   */
  startsNextFirst?: boolean;
  /** Whether one item can have caused the error of its batch. The halves are then tried, down to single items. */
  isWorthSplitting?: (error: unknown) => boolean;
};

type Waiting<Item, Result> = {
  item: Item;
  sinceMs: number;
  span: Span | undefined;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

/**
 * Runs one batch at a time (or a few), in the order of arrival: the items that arrive during a batch form the
 * next one. There are no timers, so a single item never waits for others.
 */
export class Batcher<Item, Result> {
  #options: BatcherOptions<Item, Result>;
  #queue: Waiting<Item, Result>[] = [];
  #running = 0;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /**
   * The item's own result. Its caller waits since `sinceMs`, by `performance.now()`.
   *
   * @throws QueueFull at once when too many wait, or DeadlineExceeded
   */
  add(item: Item, sinceMs = performance.now()): Promise<Result> {
    if (this.#queue.length >= this.#options.maxQueued) {
      return Promise.reject(new QueueFull(`${this.#queue.length} are already waiting`));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, sinceMs, span: activeSpan(), resolve, reject });
      if (this.#running < (this.#options.atOnce ?? 1)) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running += 1;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.maxBatch);
      await this.#process(batch);
    }
    this.#running -= 1;
  }

  async #process(items: readonly Waiting<Item, Result>[]): Promise<void> {
    const batch = this.#dropLate(items);
    if (batch.length === 0) return;
    try {
      const results = await this.#run(batch);
      const resolveAll = () => {
        for (const [index, result] of results.entries()) batch[index]?.resolve(result);
      };
      if (this.#options.startsNextFirst && this.#queue.length > 0) setImmediate(resolveAll);
      else resolveAll();
    } catch (error) {
      if (batch.length > 1 && this.#options.isWorthSplitting?.(error)) {
        const middle = Math.ceil(batch.length / 2);
        await this.#process(batch.slice(0, middle));
        await this.#process(batch.slice(middle));
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }

  #dropLate(items: readonly Waiting<Item, Result>[]): readonly Waiting<Item, Result>[] {
    const { timeoutMs = Number.POSITIVE_INFINITY } = this.#options;
    const nowMs = performance.now();
    const isLate = ({ sinceMs }: Waiting<Item, Result>) => nowMs - sinceMs > timeoutMs;
    if (!items.some(isLate)) return items;
    for (const { reject } of items.filter(isLate)) {
      reject(new DeadlineExceeded(timeoutMs));
    }
    return items.filter((item) => !isLate(item));
  }

  /** Runs a batch in its own span, because it belongs to many requests. */
  #run(batch: readonly Waiting<Item, Result>[]): Promise<readonly Result[]> {
    const { name, run } = this.#options;
    const attributes = { 'messaging.batch.message_count': batch.length };
    const spans = new Set(batch.flatMap(({ span }) => span ?? []));
    return inRootSpan(spans, name, { attributes }, () => run(batch.map(({ item }) => item)));
  }
}
