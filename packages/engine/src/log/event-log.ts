// The engine's log: the only way for an event to its team. Whatever has an event calls `ingest`.

import { DatabaseConflict, DatabaseRefused, isUntranslatable } from '../postgres/errors.ts';
import { EventQueues, type Queued } from './event-queues.ts';
import type { ActingOperator, IngestResult, ReceivedEvent } from './received-event.ts';
import {
  type BatchResult,
  BatchStore,
  type NamesWritten,
  type StoreOptions,
} from './store-batch.ts';

export type EventLogOptions = StoreOptions & {
  readonly maxQueued: number;
  /** How long an event can wait for a batch, or for a team that another transaction has locked. */
  readonly deadlineMs: number;
  readonly onBlocked?: (event: ReceivedEvent) => void;
  readonly onAttempt?: (queue: 'ready' | 'blocked', size: number, tookMs: number) => void;
  /** An event was stored without the name of its plan, which the application refused. */
  readonly onNameRefused?: (event: ReceivedEvent, error: unknown) => void;
};

/** A conflict ends a whole statement, and the next attempt most often succeeds. */
const MAX_ATTEMPTS = 5;

const NOTHING = () => undefined;

export class EventLog {
  readonly #options: EventLogOptions;
  readonly #store: BatchStore;
  readonly #queues: EventQueues<ReceivedEvent, IngestResult>;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#store = new BatchStore(options);
    this.#queues = new EventQueues({
      store: (events, timeoutMs) => this.#storeBatch(events, timeoutMs),
      customerOf: (event) => (event.kind === 'unreadable' ? '' : event.subscription.customerId),
      deadlineMs: options.deadlineMs,
      maxQueued: options.maxQueued,
      onBlocked: options.onBlocked ?? NOTHING,
      onAttempt: options.onAttempt ?? NOTHING,
    });
  }

  /**
   * Ingests events: webhooks, replays, snapshots and events from Stripe's list all come through here. When the promise
   * resolves, the events are stored and the teams are correct, permanently. Idempotent.
   *
   * @throws the errors of the database, QueueFull or DeadlineExceeded; another call can then succeed
   */
  ingest(events: readonly ReceivedEvent[]): Promise<readonly IngestResult[]> {
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
  async settle(customerId: string, operator: ActingOperator | null = null): Promise<boolean> {
    const { deadlineMs: timeoutMs } = this.#options;
    const settle = (namesWritten: NamesWritten) =>
      repeat(() => this.#store.settle(customerId, { timeoutMs, namesWritten, operator }));
    const { result } = await withFittingNames(settle, true);
    return result;
  }

  async #storeBatch(
    events: readonly ReceivedEvent[],
    timeoutMs: number,
  ): Promise<readonly BatchResult[]> {
    const store = (namesWritten: NamesWritten) =>
      repeat(() => this.#store.store(events, { timeoutMs, namesWritten }));
    const [event, ...others] = events;
    const isAlone = event !== undefined && others.length === 0;
    const { result, refusal } = await withFittingNames(store, isAlone);
    if (isAlone && refusal !== undefined) this.#options.onNameRefused?.(event, refusal);
    return result;
  }
}

/**
 * Writes with the names of plans or, if a single event or customer is refused, without. The application's
 * column may be too short for a name, or the database's encoding lack a character of it, and a plan must never wait for its
 * name.
 */
async function withFittingNames<Result>(
  write: (namesWritten: NamesWritten) => Promise<Result>,
  isAlone: boolean,
): Promise<{ readonly result: Result; readonly refusal?: unknown }> {
  try {
    return { result: await write('everywhere') };
  } catch (error) {
    if (!(error instanceof DatabaseRefused) || !isAlone) throw error;
    const result = await write(isUntranslatable(error) ? 'nowhere' : 'not in teams');
    return { result, refusal: error };
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
