// Two queues, so that the slow or failing events of one customer delay and fail no other customer's. Events wait for a
// batch. Those of a batch that failed, and the next ones of the customers of one that failed or took long, are stored one by
// one. This module knows neither what an event is nor how it is stored: event-log.ts says both.

import { setTimeout as sleep } from 'node:timers/promises';
import { canOthersSucceed, DatabaseBusy } from '../postgres/errors.ts';
import { inBatchSpan, QueueFull } from '../runtime/batcher.ts';
import { BoundedCache } from '../runtime/bounded-cache.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { activeSpan, type Span } from '../runtime/tracing.ts';

type EventQueuesOptions<Event, Result> = {
  /**
   * Stores events: all of them, except those that are locked (see `BatchResult`), or none.
   *
   * @throws DatabaseBusy after the timeout
   */
  readonly store: (
    events: readonly Event[],
    timeoutMs: number,
  ) => Promise<readonly (Result | 'locked')[]>;
  /** Whom a slow or failed event is attributed to. */
  readonly customerOf: (event: Event) => string;
  /** How long an event can wait. */
  readonly deadlineMs: number;
  /** The limit of each queue. */
  readonly maxQueued: number;
  /** An event is tried again, because it is locked or its batch failed. */
  readonly onBlocked?: (event: Event) => void;
  readonly onAttempt?: (queue: 'ready' | 'blocked', size: number, tookMs: number) => void;
};

type QueuedEvent<Event, Result> = {
  readonly event: Event;
  readonly customer: string;
  readonly sinceMs: number;
  readonly span: Span | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Whether it timed out alone. */
  isSlow: boolean;
  pauseMs: number;
};

/** So few that only a slow event, or a database that is slow for all, makes a batch slow. */
const MAX_BATCH = 100;

/** The share of the deadline that a batch, and the first attempt with an event alone, can take. */
const FAST_SHARE = 1 / 16;

/** The shortest time for a statement, so that a busy database is not taken for a slow event. */
const MIN_TIMEOUT_MS = 100;

const SPAN_NAMES = { ready: 'process events', blocked: 'process one event' } as const;

const SINGLES_AT_ONCE = 3;

/** One less, so that events which share a batch with a few slow ones are never behind them. */
const SLOW_AT_ONCE = SINGLES_AT_ONCE - 1;

/** The first and the longest pause before an event is tried again. */
const PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/** One that is forgotten costs its next batch the time of a batch. */
const MAX_SUSPECTS = 10_000;

/** The number of events that wait for a batch, and of those that are tried again or alone. */
export type Queued = Readonly<Record<'ready' | 'blocked', number>>;

export class EventQueues<Event, Result> {
  #options: EventQueuesOptions<Event, Result>;
  #fastMs: number;
  /** The queue of the batches. */
  #ready: QueuedEvent<Event, Result>[] = [];
  #isBatchRunning = false;
  /** The queue of single events, without those that are being stored. */
  #singles: QueuedEvent<Event, Result>[] = [];
  /** The customers of the single events that are being stored. */
  #runningCustomers = new Set<string>();
  #runningSlow = 0;
  /** The events that are tried again or alone. */
  #blocked = new Set<QueuedEvent<Event, Result>>();
  /** Customers whose last batch, or last event alone, was slow or failed. */
  #suspects = new BoundedCache<string, true>(MAX_SUSPECTS);

  constructor(options: EventQueuesOptions<Event, Result>) {
    this.#options = options;
    this.#fastMs = Math.max(Math.ceil(options.deadlineMs * FAST_SHARE), MIN_TIMEOUT_MS);
  }

  get queued(): Queued {
    return { ready: this.#ready.length, blocked: this.#blocked.size };
  }

  /**
   * The event's own result. Its caller waits since `sinceMs`, by `performance.now()`.
   *
   * @throws QueueFull at once, DeadlineExceeded, or what `store` throws for the event alone or for all events
   */
  add(event: Event, sinceMs = performance.now()): Promise<Result> {
    if (this.#ready.length >= this.#options.maxQueued) {
      return Promise.reject(new QueueFull(`${this.#ready.length} are already waiting`));
    }
    return new Promise((resolve, reject) => {
      this.#ready.push({
        event,
        customer: this.#options.customerOf(event),
        sinceMs,
        span: activeSpan(),
        resolve,
        reject,
        isSlow: false,
        pauseMs: PAUSE_MS,
      });
      void this.#runBatches();
    });
  }

  /** One batch at a time: the events that arrive meanwhile form the next one. No timer is involved. */
  async #runBatches(): Promise<void> {
    if (this.#isBatchRunning) return;
    this.#isBatchRunning = true;
    while (this.#ready.length > 0) {
      const batch = this.#formBatch();
      if (batch.length > 0) await this.#runBatch(batch);
    }
    this.#isBatchRunning = false;
  }

  /** Decides only now which queue an event is for, because its customer can have become a suspect while it waited. */
  #formBatch(): readonly QueuedEvent<Event, Result>[] {
    const batch: QueuedEvent<Event, Result>[] = [];
    for (const waiting of this.#ready.splice(0, MAX_BATCH)) {
      if (this.#leftMs(waiting) <= 0) this.#giveUp(waiting);
      else if (waiting.isSlow || this.#suspects.get(waiting.customer)) this.#addSingle(waiting);
      else batch.push(waiting);
    }
    return batch;
  }

  async #runBatch(batch: readonly QueuedEvent<Event, Result>[]): Promise<void> {
    const startedAtMs = performance.now();
    try {
      const results = await this.#store('ready', batch, this.#fastMs);
      if (performance.now() - startedAtMs > this.#fastMs) this.#suspect(batch);
      const settleAll = () => {
        for (const [index, waiting] of batch.entries()) this.#settle(waiting, results[index]);
      };
      // So that the next batch's first statements are sent before the answers to this one are written.
      if (this.#ready.length > 0) setImmediate(settleAll);
      else settleAll();
    } catch (error) {
      const isTriedAlone =
        canOthersSucceed(error) && (batch.length > 1 || error instanceof DatabaseBusy);
      if (canOthersSucceed(error)) this.#suspect(batch);
      for (const waiting of batch) {
        if (isTriedAlone) this.#addSingle(waiting);
        else this.#reject(waiting, error);
      }
    }
  }

  #suspect(batch: readonly QueuedEvent<Event, Result>[]): void {
    for (const { customer } of batch) this.#suspects.set(customer, true);
  }

  #addSingle(waiting: QueuedEvent<Event, Result>): void {
    if (!this.#block(waiting)) return;
    this.#singles.push(waiting);
    this.#runSingles();
  }

  #runSingles(): void {
    while (this.#runningCustomers.size < SINGLES_AT_ONCE) {
      const next = this.#takeSingle();
      if (next === undefined) return;
      void this.#runSingle(next);
    }
  }

  /** The next event to store alone. Those of one customer would only lock each other out. */
  #takeSingle(): QueuedEvent<Event, Result> | undefined {
    this.#singles = this.#singles.filter((waiting) => {
      const isLate = this.#leftMs(waiting) <= 0;
      if (isLate) this.#giveUp(waiting);
      return !isLate;
    });
    const index = this.#singles.findIndex(
      ({ customer, isSlow }) =>
        !this.#runningCustomers.has(customer) && !(isSlow && this.#runningSlow >= SLOW_AT_ONCE),
    );
    return index === -1 ? undefined : this.#singles.splice(index, 1)[0];
  }

  /**
   * Stores an event alone: in as little time as a batch at first, and then in all the time that it has left, behind the
   * events that have not been tried.
   */
  async #runSingle(waiting: QueuedEvent<Event, Result>): Promise<void> {
    const { customer, isSlow } = waiting;
    this.#runningCustomers.add(customer);
    if (isSlow) this.#runningSlow += 1;
    try {
      const timeoutMs = isSlow
        ? Math.max(Math.ceil(this.#leftMs(waiting)), MIN_TIMEOUT_MS)
        : this.#fastMs;
      const startedAtMs = performance.now();
      const [result] = await this.#store('blocked', [waiting], timeoutMs);
      if (performance.now() - startedAtMs > this.#fastMs) this.#suspect([waiting]);
      else if (result !== 'locked') this.#trust(customer);
      this.#settle(waiting, result);
    } catch (error) {
      if (canOthersSucceed(error)) this.#suspect([waiting]);
      if (error instanceof DatabaseBusy) {
        waiting.isSlow = true;
        this.#retryLater(waiting);
      } else this.#reject(waiting, error);
    } finally {
      this.#runningCustomers.delete(customer);
      if (isSlow) this.#runningSlow -= 1;
      this.#runSingles();
    }
  }

  /** The events of a customer who is fast again go back to the batches. */
  #trust(customer: string): void {
    this.#suspects.delete(customer);
    this.#singles = this.#singles.filter((other) => {
      if (other.customer !== customer || other.isSlow) return true;
      this.#ready.push(other);
      return false;
    });
    void this.#runBatches();
  }

  async #store(
    queue: 'ready' | 'blocked',
    batch: readonly QueuedEvent<Event, Result>[],
    timeoutMs: number,
  ): Promise<readonly (Result | 'locked')[]> {
    const { store, onAttempt } = this.#options;
    const startedAtMs = performance.now();
    const events = batch.map(({ event }) => event);
    try {
      return await inBatchSpan(SPAN_NAMES[queue], batch, () => store(events, timeoutMs));
    } finally {
      onAttempt?.(queue, batch.length, performance.now() - startedAtMs);
    }
  }

  #settle(waiting: QueuedEvent<Event, Result>, result: Result | 'locked' | undefined): void {
    if (result === undefined) this.#reject(waiting, new RangeError('an event has no result'));
    else if (result === 'locked') this.#retryLater(waiting);
    else {
      this.#blocked.delete(waiting);
      waiting.resolve(result);
    }
  }

  #reject(waiting: QueuedEvent<Event, Result>, error: unknown): void {
    this.#blocked.delete(waiting);
    waiting.reject(error);
  }

  #retryLater(waiting: QueuedEvent<Event, Result>): void {
    if (!this.#block(waiting)) return;
    void sleep(waiting.pauseMs).then(() => {
      this.#ready.push(waiting);
      void this.#runBatches();
    });
    waiting.pauseMs = Math.min(waiting.pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /** Counts an event as blocked, or rejects it if too many are. */
  #block(waiting: QueuedEvent<Event, Result>): boolean {
    if (this.#blocked.has(waiting)) return true;
    const { size } = this.#blocked;
    if (size >= this.#options.maxQueued) {
      waiting.reject(new QueueFull(`${size} events are already waiting to be tried again`));
      return false;
    }
    this.#blocked.add(waiting);
    this.#options.onBlocked?.(waiting.event);
    return true;
  }

  #leftMs({ sinceMs }: QueuedEvent<Event, Result>): number {
    return this.#options.deadlineMs - (performance.now() - sinceMs);
  }

  #giveUp(waiting: QueuedEvent<Event, Result>): void {
    const error = new DeadlineExceeded(this.#options.deadlineMs);
    const isBlocked = this.#blocked.has(waiting);
    this.#reject(waiting, isBlocked ? new DatabaseBusy(BUSY, { cause: error }) : error);
  }
}

const BUSY =
  'another transaction has locked the team, a policy hides it from updates, or a trigger takes too long';
