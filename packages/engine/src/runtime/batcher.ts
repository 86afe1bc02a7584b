// Makes batches of what arrives at the same time, such as lookups of users (http/user.ts).

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
};

type Waiting<Item, Result> = {
  item: Item;
  span: Span | undefined;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

/**
 * Runs one batch at a time, in the order of arrival: the items that arrive during a batch form the next one. There are
 * no timers, so a single item never waits for others.
 */
export class Batcher<Item, Result> {
  #options: BatcherOptions<Item, Result>;
  #queue: Waiting<Item, Result>[] = [];
  #isRunning = false;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  /** The item's own result. @throws QueueFull at once when too many wait */
  add(item: Item): Promise<Result> {
    if (this.#queue.length >= this.#options.maxQueued) {
      return Promise.reject(new QueueFull(`${this.#queue.length} are already waiting`));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, span: activeSpan(), resolve, reject });
      if (!this.#isRunning) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isRunning = true;
    while (this.#queue.length > 0) {
      await this.#process(this.#queue.splice(0, this.#options.maxBatch));
    }
    this.#isRunning = false;
  }

  async #process(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const { name, run } = this.#options;
    try {
      const results = await inBatchSpan(name, batch, () => run(batch.map(({ item }) => item)));
      for (const [index, result] of results.entries()) batch[index]?.resolve(result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** Runs a batch in its own span, because it belongs to many requests. */
export function inBatchSpan<Result>(
  name: string,
  batch: readonly { readonly span: Span | undefined }[],
  run: () => Promise<Result>,
): Promise<Result> {
  const attributes = { 'messaging.batch.message_count': batch.length };
  const spans = new Set(batch.flatMap(({ span }) => span ?? []));
  return inRootSpan(spans, name, { attributes }, run);
}
