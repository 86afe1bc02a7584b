// Hides how events wait for their transaction, and how often they are tried. Whatever has an event calls `ingest`: the
// webhook, a replay, an operator's action, and the jobs of maintenance.

import type { PlanSelection } from '../core/plan-selection.ts';
import { effectOf } from '../core/status.ts';
import type { Database, Query } from '../postgres/database.ts';
import {
  canOthersSucceed,
  DatabaseBusy,
  DatabaseRefused,
  isUntranslatable,
} from '../postgres/errors.ts';
import { type FoundIssue, storeIssues } from '../postgres/statements/issues.ts';
import { readProductNames, writeProductName } from '../postgres/statements/products.ts';
import type { LinkedTeam, PlanWrite } from '../postgres/statements/teams.ts';
import { Batcher, QueueFull } from '../runtime/batcher.ts';
import { BoundedCache } from '../runtime/bounded-cache.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause } from '../runtime/retry.ts';
import type { StripeApi } from '../stripe/api.ts';
import { createNameLookup, type NameOf } from '../stripe/product-names.ts';
import { type NamesWritten, type ProcessedBatch, processBatch } from './process-batch.ts';
import type { IngestResult, ReceivedEvent } from './received-event.ts';

export type Ingest = IngestPipeline['ingest'];

const MAX_BATCH = 500;

/** An event that takes more than this share of `timeoutMs` in a transaction of its own is slow. */
const FAST_SHARE = 1 / 16;

/**
 * The queues that an event passes through until it is stored, in this order. In each, it can no longer delay the
 * events of the queues before it. `timeShare` of `timeoutMs` is the time for a statement; `null`: it has all the time.
 *
 * - `ready`: all events, except those of a customer whose last event was slow.
 * - `retried`: its batch was split, or another transaction has locked its team: every few milliseconds.
 * - `suspected`: its batch timed out, so it has a transaction of its own, with little time. Several are tried at once, so
 *   that a few slow ones leave the innocent enough time.
 * - `slow`: it timed out there, because a trigger of the application waits.
 */
const QUEUES = {
  ready: { maxBatch: MAX_BATCH, atOnce: 1, timeShare: 1 / 2 },
  retried: { maxBatch: MAX_BATCH, atOnce: 1, timeShare: FAST_SHARE },
  suspected: { maxBatch: 1, atOnce: 3, timeShare: FAST_SHARE },
  slow: { maxBatch: 1, atOnce: 1, timeShare: null },
};

type QueueName = keyof typeof QUEUES;

/**
 * What an attempt to store an event leads to: its result, or why it has to be tried again. `locked`: another transaction
 * has locked its team. `split`: an event of its batch failed, perhaps another one. `timed out`: its batch did.
 */
type Attempt = IngestResult | 'locked' | 'split' | 'timed out';

type EventQueue = Batcher<ReceivedEvent, Attempt>;

/** The number of events in the ready queue, in the three others together (`blocked`), and the limit of the ready one. */
export type Queued = Readonly<Record<'ready' | 'blocked' | 'limit', number>>;

export type IngestPipelineOptions = {
  readonly database: Database;
  readonly api: Pick<StripeApi, 'retrieveProductName'>;
  readonly logger: Logger;
  readonly planSelection: PlanSelection;
  /** The key of a subscription's metadata by which a customer without a team is linked. None by default. */
  readonly linkByMetadata?: string | null | undefined;
  readonly maxQueued: number;
  /** How long an event can wait for a batch, or for a team that another transaction has locked. */
  readonly timeoutMs?: number;
  readonly instrumentation?: Instrumentation;
};

/** For callers without a deadline of their own. */
const DEFAULT_TIMEOUT_MS = 60_000;

/** The shortest time for a statement, so that a busy database is not taken for a slow event. */
const MIN_STATEMENT_TIMEOUT_MS = 100;

/** The first and the longest pause between two attempts to lock a team. */
const LOCK_PAUSE_MS = 5;
const LONGEST_LOCK_PAUSE_MS = 50;

const MAX_SLOW_CUSTOMERS = 1_000;

/** The pipeline into a database. Product names come from there and from Stripe's API. */
export class IngestPipeline {
  /** Looks up the names of products. */
  readonly nameOf: NameOf;
  #options: IngestPipelineOptions;
  #instrumentation: Instrumentation;
  #timeoutMs: number;
  #refusedPlans: RefusedPlans;
  #limit: QueueLimit;
  #queues: Readonly<Record<QueueName, EventQueue>>;
  /** The customers whose last event was slow. */
  #slowCustomers = new BoundedCache<string, true>(MAX_SLOW_CUSTOMERS);
  /** The number of events behind the ready queue. */
  #blockedEvents = 0;
  #lastCommitMs = Number.NEGATIVE_INFINITY;

  constructor(options: IngestPipelineOptions) {
    const { database, logger, maxQueued } = options;
    this.#options = options;
    this.#instrumentation = options.instrumentation ?? NO_INSTRUMENTATION;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.nameOf = createNameLookup({
      readStored: async (productId) =>
        (await readProductNames(database.query, [productId])).get(productId) ?? null,
      store: (productId, name) => writeProductName(database.query, productId, name),
      retrieve: (productId) => options.api.retrieveProductName(productId),
      onRetrieveError: (productId, err) =>
        logger.warn({ productId, err }, 'product name lookup failed'),
    });
    this.#refusedPlans = new RefusedPlans(database.query);
    this.#limit = new QueueLimit(maxQueued);
    this.#queues = {
      ready: this.#openQueue('ready'),
      retried: this.#openQueue('retried'),
      suspected: this.#openQueue('suspected'),
      slow: this.#openQueue('slow'),
    };
  }

  /**
   * Processes events: webhooks, replays and caught-up events all come through here. When the promise
   * resolves, the events are stored and the teams are correct, permanently. Idempotent.
   *
   * @throws the errors of the database, QueueFull or DeadlineExceeded; another call can then succeed
   */
  readonly ingest = async (events: readonly ReceivedEvent[]): Promise<readonly IngestResult[]> => {
    const startedAtMs = performance.now();
    const named = await Promise.all(events.map((event) => this.#addProductName(event)));
    return await Promise.all(named.map((event) => this.#ingestOne(event, startedAtMs)));
  };

  /** Whether an event that arrives now would be stored in time. */
  hasRoom(): boolean {
    return this.#queues.ready.queued < this.#limit.count;
  }

  queued(): Queued {
    const { count: limit } = this.#limit;
    return { ready: this.#queues.ready.queued, blocked: this.#blockedEvents, limit };
  }

  /** When events were last committed, by `performance.now()`. */
  lastCommitMs(): number {
    return this.#lastCommitMs;
  }

  async #addProductName(event: ReceivedEvent): Promise<ReceivedEvent> {
    if (event.kind === 'unreadable') return event;
    const { productId, planName, status } = event.subscription;
    const isNeeded = productId !== null && planName === null && effectOf(status) === 'grants';
    return { productName: isNeeded ? await this.nameOf(productId) : null, ...event };
  }

  async #ingestOne(event: ReceivedEvent, startedAtMs: number): Promise<IngestResult> {
    try {
      const attempt = this.#hasSlowCustomer(event) ? null : await this.#queues.ready.add(event);
      const isStored = typeof attempt === 'object' && attempt !== null;
      const result = isStored
        ? attempt
        : await this.#ingestBehindReady(event, startedAtMs, attempt === 'timed out');
      this.#report(event, result, performance.now() - startedAtMs);
      return result;
    } catch (error) {
      this.#instrumentation.eventFailed(error);
      throw error;
    }
  }

  /** Tries an event again that the ready queue did not store, without delaying the events there. */
  async #ingestBehindReady(
    event: ReceivedEvent,
    startedAtMs: number,
    hasTimedOut: boolean,
  ): Promise<IngestResult> {
    const { maxQueued, logger } = this.#options;
    if (this.#blockedEvents >= maxQueued) {
      throw new QueueFull(`${this.#blockedEvents} events are already waiting to be tried again`);
    }
    logger.debug({ eventId: event.eventId }, 'waiting to be tried again');
    this.#blockedEvents += 1;
    try {
      let afterTimeout: QueueName | null = hasTimedOut ? 'suspected' : null;
      for (let pauseMs = LOCK_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_LOCK_PAUSE_MS)) {
        await pause(pauseMs);
        // If the customer's last event was slow, this one may be fast: it must not wait behind those that are slow.
        const queue: QueueName =
          afterTimeout ?? (this.#hasSlowCustomer(event) ? 'suspected' : 'retried');
        const attempt: Attempt = await this.#queues[queue].add(event, startedAtMs);
        if (typeof attempt !== 'string') return attempt;
        if (attempt === 'timed out') afterTimeout = queue === 'retried' ? 'suspected' : 'slow';
      }
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      const reason = 'another transaction has locked the team, or a trigger takes too long';
      throw new DatabaseBusy(reason, { cause: error });
    } finally {
      this.#blockedEvents -= 1;
    }
  }

  #hasSlowCustomer(event: ReceivedEvent): boolean {
    return (
      event.kind !== 'unreadable' &&
      this.#slowCustomers.get(event.subscription.customerId) !== undefined
    );
  }

  /** Learns whether the customer of an event in a transaction of its own is slow. */
  #learnTime(event: ReceivedEvent | undefined, isSlow: boolean): void {
    if (event === undefined || event.kind === 'unreadable') return;
    const { customerId } = event.subscription;
    if (isSlow) this.#slowCustomers.set(customerId, true);
    else this.#slowCustomers.delete(customerId);
  }

  #openQueue(queue: QueueName): EventQueue {
    const { maxBatch, atOnce } = QUEUES[queue];
    return new Batcher({
      name: queue === 'ready' ? 'process events' : `process ${queue} events`,
      run: (events) => this.#attempt(queue, events),
      maxBatch,
      atOnce,
      maxQueued: this.#options.maxQueued,
      timeoutMs: this.#timeoutMs,
      isWorthSplitting: canOthersSucceed,
      // So that the next batch forms while this one commits.
      startsNextFirst: true,
    });
  }

  async #attempt(queue: QueueName, events: readonly ReceivedEvent[]): Promise<readonly Attempt[]> {
    const { maxBatch, timeShare } = QUEUES[queue];
    const statementTimeoutMs =
      timeShare === null
        ? undefined
        : Math.max(Math.ceil(this.#timeoutMs * timeShare), MIN_STATEMENT_TIMEOUT_MS);
    const startedAtMs = performance.now();
    try {
      const results = await this.#commit(events, statementTimeoutMs);
      const endedAtMs = performance.now();
      if (results.some((result) => result !== 'locked')) this.#lastCommitMs = endedAtMs;
      const isFast = endedAtMs - startedAtMs <= this.#timeoutMs * FAST_SHARE;
      if (maxBatch === 1 && isFast) this.#learnTime(events[0], false);
      return results;
    } catch (error) {
      if (error instanceof DatabaseBusy && timeShare !== null) {
        if (queue === 'suspected') this.#learnTime(events[0], true);
        return events.map(() => 'timed out');
      }
      // Halves are tried in the retried queue, because each of them can time out.
      if (queue === 'ready' && events.length > 1 && canOthersSucceed(error)) {
        return events.map(() => 'split');
      }
      throw error;
    } finally {
      const tookMs = performance.now() - startedAtMs;
      if (queue === 'ready') this.#limit.learn(events.length, tookMs);
      const label = queue === 'ready' ? 'ready' : 'blocked';
      this.#instrumentation.batchEnded(label, events.length, tookMs);
    }
  }

  async #commit(
    events: readonly ReceivedEvent[],
    timeoutMs: number | undefined,
  ): Promise<ProcessedBatch['results']> {
    const { database, planSelection, linkByMetadata = null, logger } = this.#options;
    const [event, ...others] = events;
    let batch: ProcessedBatch = { results: [], writes: [], linked: [] };
    const attempt = (namesWritten: NamesWritten) =>
      database.transaction(
        async (query, atCommit) => {
          const options = { planSelection, namesWritten, linkByMetadata };
          batch = await processBatch({ query, atCommit }, events, options);
        },
        { timeoutMs },
      );
    try {
      await attempt('everywhere').catch(async (error: unknown) => {
        if (!(error instanceof DatabaseRefused) || others.length > 0) throw error;
        // The application's column may be too short for the name, or the database's encoding lack a character of it, and
        // a plan must never wait for its name.
        await attempt(isUntranslatable(error) ? 'nowhere' : 'not in teams');
        logger.warn({ eventId: event?.eventId, err: error }, 'stored without the plan name');
      });
    } catch (error) {
      if (others.length > 0 || event === undefined || event.kind === 'unreadable') throw error;
      const [result] = batch.results;
      if (error instanceof DatabaseRefused && typeof result === 'object') {
        error.teamIds = result.teamIds;
      }
      // A timeout is final only for an event that had all the time.
      if (canOthersSucceed(error) && !(error instanceof DatabaseBusy && timeoutMs !== undefined)) {
        const refusedBy = error instanceof DatabaseRefused ? error.constraint : null;
        this.#refusedPlans.add(batch.writes, event.subscription.createdSeconds, refusedBy);
      }
      throw error;
    }
    for (const { id: teamId, customerId } of batch.linked) {
      logger.info({ teamId, customerId }, 'team linked by metadata');
    }
    return batch.results;
  }

  #report(event: ReceivedEvent, result: IngestResult, tookMs: number): void {
    const { logger } = this.#options;
    const { outcome, teamIds, keptTeamIds } = result;
    const { eventId, type, source } = event;
    const delayMs = delayOf(event, outcome);
    this.#instrumentation.eventProcessed({ type, outcome, source, delayMs });
    const customerId = event.kind === 'unreadable' ? undefined : event.subscription.customerId;
    const durationMs = Math.round(tookMs);
    const line = { eventId, type, customerId, teamIds, outcome, durationMs };
    if (keptTeamIds !== undefined) {
      logger.warn({ ...line, keptTeamIds }, 'team row kept: the application wrote it');
    }
    if (result.linkRefusal !== undefined) {
      logger.warn(
        { ...line, linkToTeamId: event.linkToTeamId, linkRefusal: result.linkRefusal },
        'team not linked',
      );
    } else if (outcome === 'parked') logger.error(line, 'team not found');
    else if (event.kind === 'unreadable') {
      logger.error({ ...line, problem: event.problem }, 'event unreadable');
    } else logger.info(line, 'event');
  }
}

/** The time from an event's creation to its first delivery; `null` for anything but a first delivery. */
function delayOf(event: ReceivedEvent, outcome: IngestResult['outcome']): number | null {
  const isFirst = event.source === 'delivery' && outcome !== 'duplicate';
  if (!isFirst || event.kind === 'unreadable') return null;
  return event.receivedAtMs - event.subscription.createdSeconds * 1_000;
}

const MAX_REFUSED_PLANS = 1_000;
const REFUSED_PLANS_PAUSE_MS = 1_000;

/**
 * Stores issues about plans that the app's database refused, with at most one statement per second, so that a constraint
 * that refuses every plan does not slow down the events of other teams.
 */
export class RefusedPlans {
  #batcher: Batcher<FoundIssue, undefined>;

  constructor(query: Query) {
    this.#batcher = new Batcher({
      name: 'store refused plans',
      maxBatch: MAX_BATCH,
      maxQueued: MAX_REFUSED_PLANS,
      async run(refused) {
        const lastByTeam = new Map(refused.map((issue) => [issue.teamId, issue]));
        const customerIds = refused.map(({ customerId }) => customerId);
        await storeIssues(query, customerIds, [...lastByTeam.values()], ['plan refused']);
        await pause(REFUSED_PLANS_PAUSE_MS, { ref: false });
        return refused.map(() => undefined);
      },
    });
  }

  /** Returns immediately. A plan that can't be stored is added again when Stripe sends its event again. */
  add(
    writes: readonly PlanWrite<LinkedTeam>[],
    beganSeconds: number,
    refusedBy: string | null,
  ): void {
    for (const { team, shouldBe } of writes) {
      const { id: teamId, customerId, plan } = team;
      const refused = { cause: 'plan refused', teamId, customerId, plan, shouldBe } as const;
      this.#batcher.add({ ...refused, beganSeconds, refusedBy }).catch(() => undefined);
    }
  }
}

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
    const inTime = Math.round((MAX_WAIT_MS * this.#events) / Math.max(1, this.#tookMs));
    return Math.min(this.#maxQueued, Math.max(MIN_QUEUED, inTime));
  }

  learn(batchSize: number, tookMs: number): void {
    if (batchSize < MIN_MEASURED_SIZE) return;
    this.#events = this.#events * DECAY + batchSize;
    this.#tookMs = this.#tookMs * DECAY + tookMs;
  }
}
