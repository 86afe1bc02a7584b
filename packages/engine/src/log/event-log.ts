// The log alone, over any driver: it queues events, and repeats what conflicts. pipeline.ts calls it, and who has only a
// database that runs one statement at a time.

import { DatabaseConflict, DatabaseRefused } from '../postgres/errors.ts';
import type { SettleOptions } from './decide.ts';
import { EventQueues, type Queued } from './event-queues.ts';
import type { IngestResult, LogEvent } from './log-event.ts';
import { type BatchResult, BatchStore, type StoreOptions } from './store-batch.ts';

export type EventLogOptions = StoreOptions & {
  readonly maxQueued: number;
  /** How long an event can wait for a batch, or for a team that another transaction has locked. */
  readonly deadlineMs: number;
  readonly onBlocked?: (event: LogEvent) => void;
  readonly onAttempt?: (queue: 'ready' | 'blocked', size: number, tookMs: number) => void;
  /** An event was stored without the name of its plan, which the application refused. */
  readonly onNameRefused?: (event: LogEvent, error: unknown) => void;
};

/** A conflict ends a whole statement, and the next attempt most often succeeds. */
const MAX_ATTEMPTS = 5;

export class EventLog {
  readonly #options: EventLogOptions;
  readonly #store: BatchStore;
  readonly #queues: EventQueues<LogEvent, IngestResult>;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#store = new BatchStore(options);
    this.#queues = new EventQueues({
      ...options,
      store: (events, timeoutMs) => this.#storeBatch(events, timeoutMs),
      customerOf: (event) => (event.kind === 'unreadable' ? '' : event.subscription.customerId),
    });
  }

  /**
   * Ingests events. When the promise resolves, the events are stored and the teams are correct, permanently. Idempotent.
   *
   * @throws the errors of the database, QueueFull or DeadlineExceeded; another call can then succeed
   */
  ingest(events: readonly LogEvent[]): Promise<readonly IngestResult[]> {
    const startedAtMs = performance.now();
    return Promise.all(events.map((event) => this.#queues.add(event, startedAtMs)));
  }

  queued(): Queued {
    return this.#queues.queued;
  }

  /**
   * Gives the teams of a customer the plan that they should have, and the events that waited for a team their outcomes.
   * Each customer alone, so that one whose plan the application refuses fails no other. Returns whether it was not locked.
   *
   * @throws the errors of the database
   */
  settle(customerId: string, options: SettleOptions = {}): Promise<boolean> {
    const { deadlineMs: timeoutMs } = this.#options;
    const settle = (isNamed: boolean) =>
      repeat(() => this.#store.settle(customerId, { ...options, timeoutMs, isNamed }));
    return withoutNameIfRefused(settle(true), () => settle(false));
  }

  #storeBatch(events: readonly LogEvent[], timeoutMs: number): Promise<readonly BatchResult[]> {
    const store = (isNamed: boolean) =>
      repeat(() => this.#store.store(events, { timeoutMs, isNamed }));
    const stored = store(true);
    if (events.length > 1) return stored;
    return withoutNameIfRefused(stored, async (error) => {
      const results = await store(false);
      for (const event of events) this.#options.onNameRefused?.(event, error);
      return results;
    });
  }
}

/**
 * What is written with the name of a plan or, if that is refused, without. The application's column can be too short for
 * it, and a plan must never wait for its name.
 */
async function withoutNameIfRefused<Result>(
  named: Promise<Result>,
  writeUnnamed: (error: DatabaseRefused) => Promise<Result>,
): Promise<Result> {
  try {
    return await named;
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error;
    return await writeUnnamed(error);
  }
}

async function repeat<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof DatabaseConflict) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
