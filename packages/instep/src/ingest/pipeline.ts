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
import { readProductName, writeProductName } from '../postgres/statements/products.ts';
import type { LinkedTeam } from '../postgres/statements/teams.ts';
import { Batcher, QueueFull } from '../runtime/batcher.ts';
import { BoundedCache } from '../runtime/bounded-cache.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause } from '../runtime/retry.ts';
import type { StripeApi } from '../stripe/api.ts';
import { createNameLookup, type NameOf } from '../stripe/product-names.ts';
import { applyBatch, type Names, type TeamWrite } from './apply-batch.ts';
import type { EventWithProductName, IngestResult, ReceivedEvent } from './received-event.ts';

export type Ingest = IngestPipeline['ingest'];

/**
 * The queues that an event passes through until it is stored, in this order. In each, it can no longer delay the
 * events of the queues before it.
 *
 * - `ready`: all events, in batches, except those of a customer whose last event was slow.
 * - `blocked`: its batch failed, or another transaction has locked its team: in batches, every few milliseconds.
 * - `suspected`: its batch timed out, so it has a transaction of its own, with little time.
 * - `slow`: it timed out there, because a trigger of the application waits: one at a time, with all the time.
 */
type QueueName = 'ready' | 'blocked' | 'suspected' | 'slow';

/** The number of events in the ready queue, in the three others together, and the limit of the ready one. */
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

const MAX_BATCH = 500;

/** The share of `timeoutMs` after which PostgreSQL ends a statement, where other events wait for it. */
const TIME_SHARES = { ready: 1 / 2, blocked: 1 / 16, suspected: 1 / 16 };

/** The shortest of these times, so that a busy database is not taken for a slow event. */
const MIN_STATEMENT_TIMEOUT_MS = 100;

/** The first and the longest pause between two attempts to lock a team. */
const LOCK_PAUSE_MS = 5;
const LONGEST_LOCK_PAUSE_MS = 50;

/**
 * The longest expected wait for a batch. The next batch takes about as long, so an admitted event is stored
 * within a second.
 */
const MAX_WAIT_MS = 300;

/** How many suspected events are tried at once, so that a few slow ones leave the innocent enough time. */
const SUSPECTS_AT_ONCE = 3;

const MAX_SLOW_CUSTOMERS = 1_000;

type Result = IngestResult | null;
type EventQueue = Batcher<EventWithProductName, Result>;

type QueueOptions = {
  maxBatch: number;
  atOnce?: number;
  /** The queue for the events of a batch that timed out; by default, a timeout is final. */
  next?: 'suspected' | 'slow';
};

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
  /** The queue of each event that has timed out. */
  #queueAfterTimeout = new WeakMap<ReceivedEvent, 'suspected' | 'slow'>();
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
      readStored: (productId) => readProductName(database.query, productId),
      store: (productId, name) => writeProductName(database.query, productId, name),
      retrieve: (productId) => options.api.retrieveProductName(productId),
      onRetrieveError: (productId, err) =>
        logger.warn({ productId, err }, 'product name lookup failed'),
    });
    this.#refusedPlans = new RefusedPlans(database.query);
    this.#limit = new QueueLimit({ maxQueued, maxWaitMs: MAX_WAIT_MS });
    this.#queues = {
      ready: this.#openQueue('ready', { maxBatch: MAX_BATCH, next: 'suspected' }),
      blocked: this.#openQueue('blocked', { maxBatch: MAX_BATCH, next: 'suspected' }),
      suspected: this.#openQueue('suspected', {
        maxBatch: 1,
        atOnce: SUSPECTS_AT_ONCE,
        next: 'slow',
      }),
      slow: this.#openQueue('slow', { maxBatch: 1 }),
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

  async #addProductName(event: ReceivedEvent): Promise<EventWithProductName> {
    if (event.kind === 'unreadable') return { productName: null, ...event };
    const { productId, planName, status } = event.subscription;
    const isNeeded = productId !== null && planName === null && effectOf(status) === 'grants';
    return { productName: isNeeded ? await this.nameOf(productId) : null, ...event };
  }

  async #ingestOne(event: EventWithProductName, startedAtMs: number): Promise<IngestResult> {
    try {
      const first = this.#hasSlowCustomer(event) ? null : await this.#queues.ready.add(event);
      const result = first ?? (await this.#ingestBehindReady(event, startedAtMs));
      this.#report(event, result, performance.now() - startedAtMs);
      return result;
    } catch (error) {
      this.#instrumentation.eventFailed(error);
      throw error;
    }
  }

  /** Tries an event again that the ready queue did not apply, without delaying the events there. */
  async #ingestBehindReady(
    event: EventWithProductName,
    startedAtMs: number,
  ): Promise<IngestResult> {
    const { maxQueued, logger } = this.#options;
    if (this.#blockedEvents >= maxQueued) {
      throw new QueueFull(`${this.#blockedEvents} events are already waiting for locked teams`);
    }
    logger.debug({ eventId: event.eventId }, 'waiting for a locked team');
    this.#blockedEvents += 1;
    try {
      for (let pauseMs = LOCK_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_LOCK_PAUSE_MS)) {
        await pause(pauseMs);
        const queue = this.#queues[this.#queueBehindReady(event)];
        const result = await queue.add(event, startedAtMs);
        if (result !== null) return result;
      }
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      const reason = 'another transaction has locked the team, or a trigger takes too long';
      throw new DatabaseBusy(reason, { cause: error });
    } finally {
      this.#blockedEvents -= 1;
    }
  }

  #queueBehindReady(event: EventWithProductName): QueueName {
    // A customer whose last event was slow is not behind those who still are.
    const first = this.#hasSlowCustomer(event) ? 'suspected' : 'blocked';
    return this.#queueAfterTimeout.get(event) ?? first;
  }

  #hasSlowCustomer(event: EventWithProductName): boolean {
    return (
      event.kind !== 'unreadable' &&
      this.#slowCustomers.get(event.subscription.customerId) !== undefined
    );
  }

  #timedOut(event: EventWithProductName, next: 'suspected' | 'slow'): void {
    this.#queueAfterTimeout.set(event, next);
    if (next !== 'slow' || event.kind === 'unreadable') return;
    this.#slowCustomers.set(event.subscription.customerId, true);
  }

  /** The time for a statement; `undefined`: all the time. */
  #statementTimeoutMs(queue: QueueName): number | undefined {
    if (queue === 'slow') return undefined;
    const timeoutMs = Math.ceil(this.#timeoutMs * TIME_SHARES[queue]);
    return Math.max(timeoutMs, MIN_STATEMENT_TIMEOUT_MS);
  }

  #openQueue(queue: QueueName, { maxBatch, atOnce = 1, next }: QueueOptions): EventQueue {
    const timeoutMs = this.#statementTimeoutMs(queue);
    const run = async (events: readonly EventWithProductName[]): Promise<readonly Result[]> => {
      const startedAtMs = performance.now();
      try {
        const results = await this.#commit(events, timeoutMs);
        const endedAtMs = performance.now();
        if (results.some((result) => result !== null)) this.#lastCommitMs = endedAtMs;
        if (maxBatch === 1) this.#forgetIfFast(events, endedAtMs - startedAtMs);
        return results;
      } catch (error) {
        const isTimeout = error instanceof DatabaseBusy && next !== undefined;
        if (isTimeout) for (const event of events) this.#timedOut(event, next);
        // Halves are tried in the blocked queue, because each of them can time out.
        const isToHalve = queue === 'ready' && events.length > 1 && canOthersSucceed(error);
        if (isTimeout || isToHalve) return events.map(() => null);
        throw error;
      } finally {
        const tookMs = performance.now() - startedAtMs;
        if (queue === 'ready') this.#limit.learn(events.length, tookMs);
        const label = queue === 'ready' ? 'ready' : 'blocked';
        this.#instrumentation.batchEnded(label, events.length, tookMs);
      }
    };
    return new Batcher({
      name: queue === 'ready' ? 'apply events' : `apply ${queue} events`,
      run,
      maxBatch,
      atOnce,
      maxQueued: this.#options.maxQueued,
      timeoutMs: this.#timeoutMs,
      isWorthSplitting: canOthersSucceed,
      startsNextFirst: true,
    });
  }

  #forgetIfFast(events: readonly EventWithProductName[], tookMs: number): void {
    if (tookMs > this.#timeoutMs * TIME_SHARES.suspected) return;
    for (const event of events) {
      if (event.kind !== 'unreadable') this.#slowCustomers.delete(event.subscription.customerId);
    }
  }

  async #commit(
    events: readonly EventWithProductName[],
    timeoutMs: number | undefined,
  ): Promise<readonly Result[]> {
    const { database, planSelection, linkByMetadata = null, logger } = this.#options;
    const [event, ...others] = events;
    let linked: readonly LinkedTeam[] = [];
    let results: readonly Result[] = [];
    let changes: readonly TeamWrite[] = [];
    const apply = (names: Names) =>
      database.transaction(
        async (query, atCommit) => {
          const onChanges = (before: readonly TeamWrite[]) => {
            changes = before;
          };
          const onLinked = (teams: readonly LinkedTeam[]) => {
            linked = teams;
          };
          linked = [];
          const how = { planSelection, names, linkByMetadata, onLinked, onChanges };
          results = await applyBatch({ query, atCommit }, events, how);
          return results;
        },
        { timeoutMs },
      );
    try {
      const stored = await apply('everywhere').catch(async (error: unknown) => {
        if (!(error instanceof DatabaseRefused) || others.length > 0) throw error;
        // The application's column may be too short for the name, and a plan must never wait for its name.
        const stored = await apply(isUntranslatable(error) ? 'nowhere' : 'not in teams');
        logger.warn({ eventId: event?.eventId, err: error }, 'stored without the plan name');
        return stored;
      });
      for (const { id: teamId, customerId } of linked) {
        logger.info({ teamId, customerId }, 'team linked by metadata');
      }
      return stored;
    } catch (error) {
      if (others.length > 0 || event === undefined || event.kind === 'unreadable') throw error;
      if (error instanceof DatabaseRefused) error.teamIds = results[0]?.teamIds ?? [];
      // A timeout is final only for an event that had all the time.
      if (canOthersSucceed(error) && !(error instanceof DatabaseBusy && timeoutMs !== undefined)) {
        const refusedBy = error instanceof DatabaseRefused ? error.constraint : null;
        this.#refusedPlans.note(changes, event.subscription.createdSeconds, refusedBy);
      }
      throw error;
    }
  }

  #report(event: ReceivedEvent, result: IngestResult, tookMs: number): void {
    const { logger } = this.#options;
    const { outcome, teamIds, teamIdsWithApplicationPlan } = result;
    const { eventId, type, source } = event;
    const delayMs = delayOf(event, outcome);
    this.#instrumentation.eventProcessed({ type, outcome, source, delayMs });
    const customerId = event.kind === 'unreadable' ? undefined : event.subscription.customerId;
    const durationMs = Math.round(tookMs);
    const line = { eventId, type, customerId, teamIds, outcome, durationMs };
    if (teamIdsWithApplicationPlan !== undefined) {
      const marked = { ...line, teamIdsWithApplicationPlan };
      logger.warn(marked, 'team row kept: the application wrote it');
    }
    if (result.linkRefusal !== undefined) {
      logger.warn(
        { ...line, linkTo: event.linkTo, linkRefusal: result.linkRefusal },
        'team not linked',
      );
    } else if (outcome === 'parked') logger.error(line, 'team not found');
    else if (event.kind === 'unreadable') {
      logger.error({ ...line, reason: event.reason }, 'event unreadable');
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
 * Stores the plans that the database refused for the operators, with at most one statement per second, so
 * that a constraint that refuses every plan does not slow down the events of other teams.
 */
export class RefusedPlans {
  #batcher: Batcher<FoundIssue, undefined>;

  constructor(query: Query) {
    this.#batcher = new Batcher({
      name: 'store refused plans',
      maxBatch: MAX_BATCH,
      maxQueued: MAX_REFUSED_PLANS,
      async run(refused) {
        const newest = new Map(refused.map((one) => [one.teamId, one]));
        const customerIds = refused.map(({ customerId }) => customerId);
        await storeIssues(query, customerIds, [...newest.values()], ['plan refused']);
        await pause(REFUSED_PLANS_PAUSE_MS, { ref: false });
        return refused.map(() => undefined);
      },
    });
  }

  /** Returns immediately. A plan that can't be stored is noted again when Stripe sends its event again. */
  note(changes: readonly TeamWrite[], beganSeconds: number, refusedBy: string | null): void {
    for (const { team, shouldBe } of changes) {
      const { id: teamId, customerId, plan } = team;
      const refused = { cause: 'plan refused', teamId, customerId, plan, shouldBe } as const;
      this.#batcher.add({ ...refused, beganSeconds, refusedBy }).catch(() => undefined);
    }
  }
}

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
