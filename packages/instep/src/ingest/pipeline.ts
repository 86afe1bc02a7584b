import type { PlanSelection } from '../core/plan-selection.ts';
import { effectOf } from '../core/status.ts';
import type { Database, Query } from '../postgres/database.ts';
import {
  DatabaseBusy,
  DatabaseRefused,
  isOfOneEvent,
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
import { QueueLimit } from './queue-limit.ts';
import type { EventWithProductName, IngestResult, ReceivedEvent } from './received-event.ts';

export type Ingest = IngestPipeline['ingest'];

/** Where events wait for a batch: `blocked` is for events that would delay the others. */
type Queue = 'ready' | 'blocked';

/** The number of events waiting in each queue, and the limit of the ready one. */
export type Queued = Readonly<Record<Queue | 'limit', number>>;

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

/**
 * The shares of `timeoutMs` after which PostgreSQL ends a statement: in the ready queue, where all events wait for it,
 * and in the blocked one, where the events of a batch that timed out are tried one by one.
 */
const READY_SHARE = 1 / 2;
const BLOCKED_SHARE = 1 / 16;

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

/** How many such events are tried at once, so that a few slow ones leave the innocent enough time. */
const SUSPECTS_AT_ONCE = 3;

const MAX_SLOW_CUSTOMERS = 1_000;

type Result = IngestResult | null;
type EventQueue = Batcher<EventWithProductName, Result>;

type QueueOptions = {
  maxBatch: number;
  atOnce?: number;
  /** When PostgreSQL ends a statement; by default, the events have all the time. */
  timeoutMs?: number;
  /** Called with each event of a batch that timed out, which then gets no result. */
  onTimeout?: (event: EventWithProductName) => void;
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
  #ready: EventQueue;
  #blocked: EventQueue;
  /** For the events of a batch that timed out, and those of slow customers, one by one with little time. */
  #suspected: EventQueue;
  /** For events that took longer, because the application's triggers wait: one at a time, with all the time. */
  #alone: EventQueue;
  /** The customers whose events took long the last time. */
  #slowCustomers = new BoundedCache<string, true>(MAX_SLOW_CUSTOMERS);
  #suspects = new WeakSet<ReceivedEvent>();
  #slowEvents = new WeakSet<ReceivedEvent>();
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
    const timeoutOf = (share: number) =>
      Math.max(Math.ceil(this.#timeoutMs * share), MIN_STATEMENT_TIMEOUT_MS);
    const ready = { timeoutMs: timeoutOf(READY_SHARE) };
    const blocked = { timeoutMs: timeoutOf(BLOCKED_SHARE) };
    const batches = {
      maxBatch: MAX_BATCH,
      onTimeout: (event: ReceivedEvent) => void this.#suspects.add(event),
    };
    const noteSlow = (event: ReceivedEvent) => {
      this.#slowEvents.add(event);
      if (event.kind === 'unreadable') return;
      this.#slowCustomers.set(event.subscription.customerId, true);
    };
    this.#ready = this.#openQueue('ready', 'apply events', { ...batches, ...ready });
    this.#blocked = this.#openQueue('blocked', 'apply blocked events', { ...batches, ...blocked });
    this.#suspected = this.#openQueue('blocked', 'apply suspected events', {
      maxBatch: 1,
      atOnce: SUSPECTS_AT_ONCE,
      onTimeout: noteSlow,
      ...blocked,
    });
    this.#alone = this.#openQueue('blocked', 'apply slow events', { maxBatch: 1 });
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
    return this.#ready.queued < this.#limit.count;
  }

  queued(): Queued {
    const { count: limit } = this.#limit;
    return { ready: this.#ready.queued, blocked: this.#blockedEvents, limit };
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
      const first = this.#isSlow(event) ? null : await this.#ready.add(event);
      const result = first ?? (await this.#whenUnblocked(event, startedAtMs));
      this.#report(event, result, performance.now() - startedAtMs);
      return result;
    } catch (error) {
      this.#instrumentation.eventFailed(error);
      throw error;
    }
  }

  /** Tries an event again that the ready queue did not apply, without delaying the events there. */
  async #whenUnblocked(event: EventWithProductName, startedAtMs: number): Promise<IngestResult> {
    const { maxQueued, logger } = this.#options;
    if (this.#blockedEvents >= maxQueued) {
      throw new QueueFull(`${this.#blockedEvents} events are already waiting for locked teams`);
    }
    logger.debug({ eventId: event.eventId }, 'waiting for a locked team');
    this.#blockedEvents += 1;
    try {
      for (let pauseMs = LOCK_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_LOCK_PAUSE_MS)) {
        await pause(pauseMs);
        const result = await this.#queueOf(event).add(event, startedAtMs);
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

  #queueOf(event: EventWithProductName): EventQueue {
    if (this.#slowEvents.has(event)) return this.#alone;
    // A customer whose last event took long is not behind those who still do.
    const isSuspect = this.#suspects.has(event) || this.#isSlow(event);
    return isSuspect ? this.#suspected : this.#blocked;
  }

  #isSlow(event: EventWithProductName): boolean {
    return (
      event.kind !== 'unreadable' &&
      this.#slowCustomers.get(event.subscription.customerId) !== undefined
    );
  }

  #openQueue(
    queue: Queue,
    name: string,
    { maxBatch, timeoutMs, atOnce = 1, onTimeout }: QueueOptions,
  ): EventQueue {
    const run = async (events: readonly EventWithProductName[]): Promise<readonly Result[]> => {
      const startedAtMs = performance.now();
      try {
        const results = await this.#commit(events, timeoutMs);
        const endedAtMs = performance.now();
        if (results.some((result) => result !== null)) this.#lastCommitMs = endedAtMs;
        if (maxBatch === 1) this.#forgetIfFast(events, endedAtMs - startedAtMs);
        return results;
      } catch (error) {
        const isTimeout = error instanceof DatabaseBusy && onTimeout !== undefined;
        if (isTimeout) events.forEach(onTimeout);
        // Halves are tried in the other queue, because each of them can time out.
        const isToHalve = queue === 'ready' && events.length > 1 && isOfOneEvent(error);
        if (isTimeout || isToHalve) return events.map(() => null);
        throw error;
      } finally {
        const tookMs = performance.now() - startedAtMs;
        if (queue === 'ready') this.#limit.learn(events.length, tookMs);
        this.#instrumentation.batchEnded(queue, events.length, tookMs);
      }
    };
    return new Batcher({
      name,
      run,
      maxBatch,
      atOnce,
      maxQueued: this.#options.maxQueued,
      timeoutMs: this.#timeoutMs,
      isWorthSplitting: isOfOneEvent,
      startsNextFirst: true,
    });
  }

  #forgetIfFast(events: readonly EventWithProductName[], tookMs: number): void {
    if (tookMs > this.#timeoutMs * BLOCKED_SHARE) return;
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
      if (isOfOneEvent(error) && !(error instanceof DatabaseBusy && timeoutMs !== undefined)) {
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
