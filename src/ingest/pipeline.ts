import type { PlanSelection } from '../core/plan-selection.ts';
import { effectOf } from '../core/transition.ts';
import type { Database } from '../postgres/database.ts';
import { DatabaseBusy, DatabaseConflict, DatabaseRefused } from '../postgres/errors.ts';
import { Batcher } from '../runtime/batcher.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import type { ProductNames } from '../stripe/product-names.ts';
import { type ApplyOptions, applyBatch, applyFree, type Transaction } from './apply-batch.ts';
import { QueueLimit, type QueueLimitOptions } from './queue-limit.ts';
import type { NamedEvent, ReceivedEvent, Result } from './received-event.ts';

/**
 * The one door: whatever brings events, webhooks, replays or a list of missed ones, brings them
 * here. When the promise resolves, the events are stored and the teams are right, for good.
 *
 * @throws the errors of the database, or QueueFull; the events may then
 * come again, by the rule without harm
 */
export type Ingest = (events: readonly ReceivedEvent[]) => Promise<readonly Result[]>;

export type IngestPipeline = {
  readonly ingest: Ingest;
  /** Whether what comes now would have its turn in time. Asked before anything is done for it. */
  hasRoom(): boolean;
  queued(): Queued;
};

/** Where events wait for a batch: `blocked` is for teams that another session has locked. */
type Lane = 'ready' | 'blocked';

/** How many wait in each lane, and how many may in the ready one. */
export type Queued = Readonly<Record<Lane | 'limit', number>>;

export type IngestPipelineOptions = QueueLimitOptions & {
  readonly database: Database;
  readonly productNames: ProductNames;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Which of several subscriptions a team has. */
  readonly planSelection: PlanSelection;
  readonly maxBatch: number;
  readonly instrumentation?: Instrumentation;
};

type Apply<Outcome> = (
  transaction: Transaction,
  events: readonly NamedEvent[],
  options: ApplyOptions,
) => Promise<readonly Outcome[]>;

/** What one event of a batch may have brought upon the others. */
const ONE_OF_MANY = [DatabaseBusy, DatabaseConflict, DatabaseRefused];

export function createIngestPipeline(options: IngestPipelineOptions): IngestPipeline {
  const { database, productNames, logger, now, instrumentation = NO_INSTRUMENTATION } = options;

  const lane = {
    maxBatch: options.maxBatch,
    maxQueued: options.maxQueued,
    isWorthSplitting: (error: unknown) => ONE_OF_MANY.some((kind) => error instanceof kind),
  };
  const limit = new QueueLimit(options);
  // Whose team somebody else holds waits for it in a lane of its own, and holds up nobody.
  const freeLane = new Batcher<NamedEvent, Result | null>({
    ...lane,
    name: 'apply events',
    run: (events) => runBatch('ready', applyFree, events),
  });
  const waitingLane = new Batcher<NamedEvent, Result>({
    ...lane,
    name: 'apply events of held teams',
    run: (events) => runBatch('blocked', applyBatch, events),
  });

  async function runBatch<Outcome>(
    lane: Lane,
    apply: Apply<Outcome>,
    events: readonly NamedEvent[],
  ): Promise<readonly Outcome[]> {
    const startedAtMs = now();
    try {
      return await commit(apply, events);
    } finally {
      const tookMs = now() - startedAtMs;
      if (lane === 'ready') limit.learn(events.length, tookMs);
      instrumentation.batchEnded(lane, events.length, tookMs);
    }
  }

  async function commit<Outcome>(
    apply: Apply<Outcome>,
    events: readonly NamedEvent[],
  ): Promise<readonly Outcome[]> {
    const { planSelection } = options;
    try {
      return await database.transaction((query, atCommit) =>
        apply({ query, atCommit }, events, { planSelection }),
      );
    } catch (error) {
      if (!(error instanceof DatabaseRefused) || events.length > 1) throw error;
      // An application's column may be too short for a name: an entitlement never waits for one.
      const results = await database.transaction((query, atCommit) =>
        apply({ query, atCommit }, events, { planSelection, withoutNames: true }),
      );
      logger.warn({ eventId: events[0]?.eventId, err: error }, 'stored without the plan name');
      return results;
    }
  }

  async function nameProduct(event: ReceivedEvent): Promise<NamedEvent> {
    if (event.kind === 'unreadable') return { productName: null, ...event };
    const { productId, planName, status } = event.subscription;
    const isNeeded = productId !== null && planName === null && effectOf(status) === 'grants';
    return { productName: isNeeded ? await productNames.nameOf(productId) : null, ...event };
  }

  function report(event: ReceivedEvent, { outcome, teamIds }: Result): void {
    const { type, source } = event;
    instrumentation.eventProcessed({ type, outcome, source, delayMs: delayOf(event, outcome) });
    const line = {
      eventId: event.eventId,
      type: event.type,
      customerId: event.kind === 'unreadable' ? undefined : event.subscription.customerId,
      teamIds,
      outcome,
      durationMs: now() - event.receivedAtMs,
    };
    if (outcome === 'parked') logger.error(line, 'team not found');
    else if (event.kind === 'unreadable') {
      logger.error({ ...line, reason: event.reason }, 'event unreadable');
    } else logger.info(line, 'event');
  }

  async function ingest(events: readonly ReceivedEvent[]): Promise<readonly Result[]> {
    const named = await Promise.all(events.map(nameProduct));
    return await Promise.all(
      named.map(async (event) => {
        try {
          const result = (await freeLane.add(event)) ?? (await waitingLane.add(event));
          report(event, result);
          return result;
        } catch (error) {
          instrumentation.eventFailed(error);
          throw error;
        }
      }),
    );
  }

  return {
    ingest,
    hasRoom: () => freeLane.queued < limit.count,
    queued: () => ({ ready: freeLane.queued, blocked: waitingLane.queued, limit: limit.count }),
  };
}

/** How long after its creation an event was delivered for the first time; `null` for all others. */
function delayOf(event: ReceivedEvent, outcome: Result['outcome']): number | null {
  const isFirst = event.source === 'delivery' && outcome !== 'duplicate';
  if (!isFirst || event.kind === 'unreadable') return null;
  return event.receivedAtMs - event.subscription.createdSeconds * 1_000;
}
