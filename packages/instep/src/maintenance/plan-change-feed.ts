import type { ApplicationId } from '../core/application.ts';
import type { Database, Query } from '../postgres/database.ts';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import type { PlanChange } from '../postgres/statements/plan-changes.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause, Stopped } from '../runtime/retry.ts';
import { type LeasedRun, withLease } from './lease.ts';
import {
  addConsumer,
  checkConsumerName,
  type FeedStart,
  jobOf,
  MAX_FAILURES,
  noteFailure,
  noteHandled,
  readDueChanges,
  readPosition,
  readSettledId,
  takeChanges,
} from './plan-change-consumers.ts';
import type { Job } from './worker.ts';

/** Is called with each change of a plan. If it throws or rejects, it is called again later. */
export type PlanChangeHandler = (change: PlanChange) => unknown;

export type FeedOptions = {
  /** `now` by default. A consumer that is known already continues where it was. */
  readonly from?: FeedStart;
};

/** A handler that is called with changes of plans. */
export type Feed = {
  /** Passes on no more changes. Resolves when the change that is being handled is done. */
  stop(): Promise<void>;
};

const POLL_INTERVAL_MS = 1_000;

/** Another process takes over after this time and a poll. */
const LEASE_MS = 8_000;

/** A handler that takes longer has failed, and is called again. */
const HANDLER_DEADLINE_MS = 5 * 60_000;

const MAX_ERROR_LENGTH = 500;

type Consumer = {
  readonly name: string;
  readonly handler: PlanChangeHandler;
  readonly from: FeedStart;
};

type ConsumersOptions = {
  readonly database: Database;
  readonly logger: Logger;
  /** This process. */
  readonly holder: string;
  /** Whether consumers run only in `job`, because the process does not live between requests. */
  readonly isOnDemand: boolean;
};

/** The consumers of a process. */
export class PlanChangeConsumers {
  #options: ConsumersOptions;
  #feeds = new Map<string, Feed & { readonly consumer: Consumer }>();

  constructor(options: ConsumersOptions) {
    this.#options = options;
  }

  /** Starts a consumer, in place of one with the same name in this process. @throws ConsumerNameInvalid */
  start(name: string, handler: PlanChangeHandler, { from = 'now' }: FeedOptions = {}): Feed {
    checkConsumerName(name);
    const consumer = { name, handler, from };
    const former = this.#feeds.get(name)?.stop() ?? Promise.resolve();
    const stopping = new AbortController();
    const { signal } = stopping;
    const loop = this.#options.isOnDemand
      ? former
      : former.then(() => this.#repeat(consumer, signal));
    const feed = {
      consumer,
      stop: async () => {
        stopping.abort();
        if (this.#feeds.get(name) === feed) this.#feeds.delete(name);
        await loop;
      },
    };
    this.#feeds.set(name, feed);
    return feed;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.stop()));
  }

  /** Passes on everything that is due, for a process that does not live between requests. */
  readonly job: Job = {
    name: 'plan-changes',
    intervalMs: 0,
    run: async (signal) => {
      const errors: unknown[] = [];
      for (const { consumer } of [...this.#feeds.values()]) {
        try {
          await this.#lease(consumer, signal, (run) => this.#passAll(run, consumer, signal));
        } catch (err) {
          this.#logFailure(consumer, err);
          errors.push(err);
        }
      }
      // The run has failed, but not for the consumers after the first failure.
      if (errors.length > 0) throw errors[0];
    },
  };

  async #repeat(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const pausing = { signal, ref: false };
    while (!signal.aborted) {
      try {
        await this.#lease(consumer, signal, async (run) => {
          while (!signal.aborted) {
            await this.#passAll(run, consumer, signal);
            await pause(POLL_INTERVAL_MS, pausing);
          }
        });
      } catch (err) {
        this.#logFailure(consumer, err);
      }
      await pause(POLL_INTERVAL_MS, pausing);
    }
  }

  #logFailure({ name }: Consumer, err: unknown): void {
    if (err instanceof Stopped) return;
    const level = err instanceof DatabaseUnavailable ? 'debug' : 'warn';
    this.#options.logger[level]({ consumer: name, err }, 'changes of plans not passed on');
  }

  async #lease(
    { name, from }: Consumer,
    signal: AbortSignal,
    work: (run: LeasedRun) => Promise<void>,
  ): Promise<void> {
    const { database, holder } = this.#options;
    if (signal.aborted) return;
    await addConsumer(database.query, name, from);
    const lease = { name: jobOf(name), holder, dueAfterMs: 0, leaseMs: LEASE_MS };
    await withLease(database.query, lease, work);
  }

  /** Passes on the changes that are due, and takes the next ones, until there is nothing left to do. */
  async #passAll(run: LeasedRun, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const { name } = consumer;
    while (!signal.aborted) {
      const due = await readDueChanges(this.#options.database.query, name);
      if (due.length === 0 && !(await this.#takeNext(run, name))) return;
      const failedTeams = new Set<ApplicationId>();
      for (const { failures, ...change } of due) {
        if (signal.aborted) return;
        if (failedTeams.has(change.teamId)) continue;
        const error = await this.#call(consumer, change, failures);
        if (error !== null) failedTeams.add(change.teamId);
        await this.#commit(run, (query) =>
          error === null
            ? noteHandled(query, name, change.id)
            : noteFailure(query, name, change.id, { failures: failures + 1, error }),
        );
      }
    }
  }

  /** Takes the next changes, up to the last one before which all are committed. Returns whether there are any. */
  async #takeNext(run: LeasedRun, name: string): Promise<boolean> {
    const { query } = this.#options.database;
    const position = await readPosition(query, name);
    // An operator has removed the consumer.
    if (position === null) throw new Stopped();
    const settled = await readSettledId(query, position);
    if (settled === position) return false;
    await this.#commit(run, (inside) => takeChanges(inside, name, settled));
    return true;
  }

  /** What became of a change is stored only while this process has the lease. */
  async #commit(run: LeasedRun, write: (query: Query) => Promise<unknown>): Promise<void> {
    await this.#options.database.transaction(async (query) => {
      await run.saveProgress({}, query);
      await write(query);
    });
  }

  /** Returns the message of the handler's error; `null`: the change is handled. */
  async #call(
    { name, handler }: Consumer,
    change: PlanChange,
    failures: number,
  ): Promise<string | null> {
    try {
      await withDeadline((async () => handler(change))(), HANDLER_DEADLINE_MS);
      return null;
    } catch (err) {
      const { id: changeId, teamId } = change;
      const line = { consumer: name, changeId, teamId, failures: failures + 1, err };
      const isLast = failures + 1 >= MAX_FAILURES;
      this.#options.logger[isLast ? 'error' : 'warn'](line, 'change of a plan not handled');
      const message = err instanceof Error ? err.message : String(err);
      return message.replaceAll('\0', '').toWellFormed().slice(0, MAX_ERROR_LENGTH);
    }
  }
}
