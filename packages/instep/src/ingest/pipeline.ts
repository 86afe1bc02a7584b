import type { PlanSelection } from '../core/plan-selection.ts';
import { effectOf } from '../core/status.ts';
import type { Database } from '../postgres/database.ts';
import { DatabaseBusy, DatabaseConflict, DatabaseRefused } from '../postgres/errors.ts';
import { readProductName, writeProductName } from '../postgres/statements/products.ts';
import { Batcher, QueueFull } from '../runtime/batcher.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { pause } from '../runtime/pause.ts';
import type { StripeApi } from '../stripe/api.ts';
import { createNameLookup, type NameOf } from '../stripe/product-names.ts';
import { applyBatch, type PlanChange } from './apply-batch.ts';
import { QueueLimit } from './queue-limit.ts';
import type { EventWithProductName, IngestResult, ReceivedEvent } from './received-event.ts';
import { createRefusedPlans } from './refused-plans.ts';

/**
 * Processes events: webhooks, replays and caught-up events all come through here. When the promise
 * resolves, the events are stored and the teams are correct, permanently. Idempotent.
 *
 * @throws the errors of the database, QueueFull or DeadlineExceeded; another call can then succeed
 */
export type Ingest = (events: readonly ReceivedEvent[]) => Promise<readonly IngestResult[]>;

export type IngestPipeline = {
  readonly ingest: Ingest;
  /** Looks up the names of products. */
  readonly nameOf: NameOf;
  /** Whether an event that arrives now would be stored in time. */
  hasRoom(): boolean;
  queued(): Queued;
  /** When events were last committed, by `performance.now()`. */
  lastCommitMs(): number;
};

/** Where events wait for a batch: `blocked` is for teams that another transaction has locked. */
type Lane = 'ready' | 'blocked';

/** The number of events waiting in each lane, and the limit of the ready one. */
export type Queued = Readonly<Record<Lane | 'limit', number>>;

export type IngestPipelineOptions = {
  readonly database: Database;
  readonly api: Pick<StripeApi, 'retrieveProductName'>;
  readonly logger: Logger;
  readonly planSelection: PlanSelection;
  readonly maxQueued: number;
  /** How long an event can wait for a batch, or for a team that another transaction has locked. */
  readonly timeoutMs?: number;
  readonly instrumentation?: Instrumentation;
};

const MAX_BATCH = 500;

/** For callers without a deadline of their own. */
const DEFAULT_TIMEOUT_MS = 60_000;

/** The first and the longest pause between two attempts to lock a team. */
const LOCK_PAUSE_MS = 5;
const LONGEST_LOCK_PAUSE_MS = 50;

/**
 * The longest expected wait for a batch. The next batch takes about as long, so an admitted event is stored
 * within a second.
 */
const MAX_WAIT_MS = 300;

/** Whether one event can have caused the error of its whole batch. */
export function isOfOneEvent(error: unknown): error is Error {
  return [DatabaseBusy, DatabaseConflict, DatabaseRefused].some((kind) => error instanceof kind);
}

/** Opens the pipeline into a database. Product names come from there and from Stripe's API. */
export function createIngestPipeline(options: IngestPipelineOptions): IngestPipeline {
  const { database, logger, planSelection, maxQueued } = options;
  const { instrumentation = NO_INSTRUMENTATION, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const nameOf = createNameLookup({
    readStored: (productId) => readProductName(database.query, productId),
    store: async (productId, name) => {
      await writeProductName(database.query, productId, name);
    },
    retrieve: (productId) => options.api.retrieveProductName(productId),
    onRetrieveError: (productId, err) =>
      logger.warn({ productId, err }, 'product name lookup failed'),
  });
  const refusedPlans = createRefusedPlans(database.query);
  const limit = new QueueLimit({ maxQueued, maxWaitMs: MAX_WAIT_MS });
  const ready = openLane('ready', 'apply events');
  // Retries events whose team was locked, so that they never delay the others.
  const blocked = openLane('blocked', 'apply events of locked teams');
  let blockedEvents = 0;
  let lastCommitMs = Number.NEGATIVE_INFINITY;

  function openLane(lane: Lane, name: string): Batcher<EventWithProductName, IngestResult | null> {
    return new Batcher({
      name,
      maxBatch: MAX_BATCH,
      maxQueued,
      timeoutMs,
      isWorthSplitting: isOfOneEvent,
      startsNextFirst: true,
      async run(events) {
        const startedAtMs = performance.now();
        try {
          const results = await commit(events);
          if (results.some((result) => result !== null)) lastCommitMs = performance.now();
          return results;
        } finally {
          const tookMs = performance.now() - startedAtMs;
          if (lane === 'ready') limit.learn(events.length, tookMs);
          instrumentation.batchEnded(lane, events.length, tookMs);
        }
      },
    });
  }

  async function commit(
    events: readonly EventWithProductName[],
  ): Promise<readonly (IngestResult | null)[]> {
    let results: readonly (IngestResult | null)[] = [];
    let changes: readonly PlanChange[] = [];
    const apply = (withoutNames: boolean) =>
      database.transaction(async (query, atCommit) => {
        const onChanges = (before: readonly PlanChange[]) => {
          changes = before;
        };
        const options = { planSelection, withoutNames, ...(withoutNames && { onChanges }) };
        results = await applyBatch({ query, atCommit }, events, options);
        return results;
      });
    const [event] = events;
    try {
      return await apply(false);
    } catch (error) {
      if (!(error instanceof DatabaseRefused) || events.length > 1) throw error;
      // The application's column may be too short for the name, and a plan must never wait for its name.
      const stored = await apply(true).catch((again: unknown) => {
        if (!(again instanceof DatabaseRefused)) throw again;
        again.teamIds = results[0]?.teamIds ?? [];
        if (event !== undefined && event.kind !== 'unreadable') {
          refusedPlans.note(changes, event.subscription.createdSeconds);
        }
        throw again;
      });
      logger.warn({ eventId: event?.eventId, err: error }, 'stored without the plan name');
      return stored;
    }
  }

  async function addProductName(event: ReceivedEvent): Promise<EventWithProductName> {
    if (event.kind === 'unreadable') return { productName: null, ...event };
    const { productId, planName, status } = event.subscription;
    const isNeeded = productId !== null && planName === null && effectOf(status) === 'grants';
    return { productName: isNeeded ? await nameOf(productId) : null, ...event };
  }

  async function ingestOne(
    event: EventWithProductName,
    startedAtMs: number,
  ): Promise<IngestResult> {
    try {
      const result = (await ready.add(event)) ?? (await whenUnlocked(event));
      report(event, result, performance.now() - startedAtMs);
      return result;
    } catch (error) {
      instrumentation.eventFailed(error);
      throw error;
    }
  }

  async function whenUnlocked(event: EventWithProductName): Promise<IngestResult> {
    if (blockedEvents >= maxQueued) {
      throw new QueueFull(`${blockedEvents} events are already waiting for locked teams`);
    }
    logger.debug({ eventId: event.eventId }, 'waiting for a locked team');
    const giveUpAtMs = performance.now() + timeoutMs;
    blockedEvents += 1;
    try {
      for (let pauseMs = LOCK_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_LOCK_PAUSE_MS)) {
        await pause(pauseMs);
        const result = await blocked.add(event);
        if (result !== null) return result;
        if (performance.now() > giveUpAtMs) {
          throw new DatabaseBusy('another transaction has locked the team');
        }
      }
    } finally {
      blockedEvents -= 1;
    }
  }

  function report(event: ReceivedEvent, result: IngestResult, tookMs: number): void {
    const { outcome, teamIds, keptTeamIds } = result;
    const { eventId, type, source } = event;
    instrumentation.eventProcessed({ type, outcome, source, delayMs: delayOf(event, outcome) });
    const customerId = event.kind === 'unreadable' ? undefined : event.subscription.customerId;
    const durationMs = Math.round(tookMs);
    const line = { eventId, type, customerId, teamIds, outcome, durationMs };
    if (keptTeamIds !== undefined) {
      logger.warn({ ...line, keptTeamIds }, 'team row kept: the application wrote it');
    }
    if (outcome === 'parked') logger.error(line, 'team not found');
    else if (event.kind === 'unreadable') {
      logger.error({ ...line, reason: event.reason }, 'event unreadable');
    } else logger.info(line, 'event');
  }

  return {
    async ingest(events) {
      const startedAtMs = performance.now();
      const named = await Promise.all(events.map(addProductName));
      return await Promise.all(named.map((event) => ingestOne(event, startedAtMs)));
    },
    nameOf,
    hasRoom: () => ready.queued < limit.count,
    lastCommitMs: () => lastCommitMs,
    queued: () => ({ ready: ready.queued, blocked: blockedEvents, limit: limit.count }),
  };
}

/** The time from an event's creation to its first delivery; `null` for anything but a first delivery. */
function delayOf(event: ReceivedEvent, outcome: IngestResult['outcome']): number | null {
  const isFirst = event.source === 'delivery' && outcome !== 'duplicate';
  if (!isFirst || event.kind === 'unreadable') return null;
  return event.receivedAtMs - event.subscription.createdSeconds * 1_000;
}
