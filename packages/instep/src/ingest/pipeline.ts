// The only way for an event to its team. Whatever has an event calls `ingest`: the webhook, a replay, an operator's
// action, and the jobs of maintenance.

import type { PlanSelection } from '../core/plan-selection.ts';
import { effectOf } from '../core/status.ts';
import type { Database } from '../postgres/database.ts';
import {
  canOthersSucceed,
  DatabaseBusy,
  DatabaseRefused,
  isUntranslatable,
} from '../postgres/errors.ts';
import { readProductNames, writeProductName } from '../postgres/statements/products.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import type { Mode } from '../stripe/key-kind.ts';
import { createNameLookup, type NameOf } from '../stripe/product-names.ts';
import { type Attempt, EventQueues, type Queued, type Stored } from './event-queues.ts';
import { type NamesWritten, type ProcessedBatch, processBatch } from './process-batch.ts';
import type { IngestResult, ReceivedEvent } from './received-event.ts';
import { RefusedPlans } from './refused-plans.ts';

export type Ingest = IngestPipeline['ingest'];

export type IngestPipelineOptions = {
  readonly database: Database;
  readonly api: Pick<StripeApi, 'retrieveProductName'>;
  readonly logger: Logger;
  readonly planSelection: PlanSelection;
  /** The key of a subscription's metadata by which a customer without a team is linked. None by default. */
  readonly linkByMetadata?: string | null | undefined;
  /** The mode of the API key: the events of another one link no team. `null`: unknown. */
  readonly keyMode?: Mode | null;
  readonly maxQueued: number;
  /** How long an event can wait for a batch, or for a team that another transaction has locked. */
  readonly timeoutMs?: number;
  readonly instrumentation?: Instrumentation;
};

/** For callers without a deadline of their own. */
const DEFAULT_TIMEOUT_MS = 60_000;

/** The pipeline into a database. Product names come from there and from Stripe's API. */
export class IngestPipeline {
  /** Looks up the names of products. */
  readonly nameOf: NameOf;
  #options: IngestPipelineOptions;
  #instrumentation: Instrumentation;
  #refusedPlans: RefusedPlans;
  #queues: EventQueues<ReceivedEvent, IngestResult>;

  constructor(options: IngestPipelineOptions) {
    const { database, logger, maxQueued } = options;
    this.#options = options;
    this.#instrumentation = options.instrumentation ?? NO_INSTRUMENTATION;
    this.nameOf = createNameLookup({
      readStored: async (productId) =>
        (await readProductNames(database.query, [productId])).get(productId) ?? null,
      store: (productId, name) => writeProductName(database.query, productId, name),
      retrieve: (productId) => options.api.retrieveProductName(productId),
      onRetrieveError: (productId, err) =>
        logger.warn({ productId, err }, 'product name lookup failed'),
    });
    this.#refusedPlans = new RefusedPlans(database.query);
    this.#queues = new EventQueues({
      store: (events, attempt) => this.#store(events, attempt),
      customerOf: (event) => (event.kind === 'unreadable' ? '' : event.subscription.customerId),
      deadlineMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      maxQueued,
      onBlocked: ({ eventId }) => logger.debug({ eventId }, 'waiting to be tried again'),
      onAttempt: (queue, size, tookMs) => this.#instrumentation.batchEnded(queue, size, tookMs),
    });
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
    const { ready, limit } = this.#queues.queued;
    return ready < limit;
  }

  queued(): Queued {
    return this.#queues.queued;
  }

  async #addProductName(event: ReceivedEvent): Promise<ReceivedEvent> {
    if (event.kind === 'unreadable') return event;
    const { productId, planName, status } = event.subscription;
    const isNeeded = productId !== null && planName === null && effectOf(status) === 'grants';
    return { productName: isNeeded ? await this.nameOf(productId) : null, ...event };
  }

  async #ingestOne(event: ReceivedEvent, startedAtMs: number): Promise<IngestResult> {
    try {
      const result = await this.#queues.add(event, startedAtMs);
      this.#report(event, result, performance.now() - startedAtMs);
      return result;
    } catch (error) {
      this.#instrumentation.eventFailed(error);
      throw error;
    }
  }

  async #store(
    events: readonly ReceivedEvent[],
    { timeoutMs, isLast }: Attempt,
  ): Promise<Stored<IngestResult>> {
    const {
      database,
      planSelection,
      linkByMetadata = null,
      keyMode = null,
      logger,
    } = this.#options;
    const [event, ...others] = events;
    let batch: ProcessedBatch = { results: [], writes: [], linked: [], readMs: 0 };
    let startedAtMs = 0;
    const attempt = (namesWritten: NamesWritten) =>
      database.transaction(
        async (query, atCommit) => {
          // Without the wait for a connection.
          startedAtMs = performance.now();
          const options = { planSelection, namesWritten, linkByMetadata, keyMode };
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
      if (canOthersSucceed(error) && (isLast || !(error instanceof DatabaseBusy))) {
        const refusedBy = error instanceof DatabaseRefused ? error.constraint : null;
        this.#refusedPlans.add(batch.writes, event.subscription.createdSeconds, refusedBy);
      }
      throw error;
    }
    const { results, linked, readMs } = batch;
    const endedAtMs = performance.now();
    for (const { id: teamId, customerId } of linked) {
      logger.info({ teamId, customerId }, 'team linked by metadata');
    }
    // Reading runs no code of the app, so it shows what a round trip takes now, and our own work around it.
    return { results, tookMs: endedAtMs - startedAtMs - 2 * readMs };
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
