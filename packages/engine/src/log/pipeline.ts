// The only way for an event to its team. Whatever has an event calls `ingest`: the webhook, a replay, an operator's
// action, and the jobs of maintenance. event-log.ts stores it; what comes before and after is here: names of products and
// reports.

import type { ApplicationId } from '../postgres/application.ts';
import type { Database } from '../postgres/database.ts';
import { canOthersSucceed, DatabaseRefused } from '../postgres/errors.ts';
import { readTeamsOf } from '../postgres/statements/teams.ts';
import type { PlanSelection } from '../rule/plan-selection.ts';
import { effectOf } from '../rule/status.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import type { StripeApi } from '../stripe/api.ts';
import { isId } from '../stripe/parse-event.ts';
import type { CustomerDecision, SettleOptions } from './decide.ts';
import { EventLog } from './event-log.ts';
import type { Queued } from './event-queues.ts';
import type { IngestResult, LogEvent } from './log-event.ts';
import { createNameLookup, type NameOf } from './product-names.ts';
import { RefusedPlans } from './refused-plans.ts';

export type Ingest = IngestPipeline['ingest'];

/** Gives the teams of a customer the plan that they should have. Returns whether the customer was not locked. */
export type Settle = IngestPipeline['settle'];

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

/** For callers without a deadline of their own. */
const DEFAULT_TIMEOUT_MS = 60_000;

/** The pipeline into a database. Product names come from there and from Stripe's API. */
export class IngestPipeline {
  /** Looks up the names of products. */
  readonly nameOf: NameOf;
  #options: IngestPipelineOptions;
  #instrumentation: Instrumentation;
  #refusedPlans: RefusedPlans;
  #log: EventLog;
  /** What could not be written, by customer. */
  #failed = new Map<string, CustomerDecision>();

  constructor(options: IngestPipelineOptions) {
    const { database, logger, planSelection, maxQueued } = options;
    this.#options = options;
    this.#instrumentation = options.instrumentation ?? NO_INSTRUMENTATION;
    this.nameOf = createNameLookup(database.query, options.api, logger);
    this.#refusedPlans = new RefusedPlans(database.query);
    this.#log = new EventLog({
      ...{ database, planSelection, maxQueued },
      findTeams: database.findTeams,
      deadlineMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      onBlocked: ({ eventId }) => logger.debug({ eventId }, 'waiting to be tried again'),
      onAttempt: (queue, size, tookMs) => this.#instrumentation.batchEnded(queue, size, tookMs),
      onNameRefused: ({ eventId }, err) =>
        logger.warn({ eventId, err }, 'stored without the plan name'),
      onFoundTeam: (event) =>
        this.#instrumentation.eventProcessed({ ...event, source: 'log', delayMs: null }),
      onFailed: (decision) => this.#failed.set(decision.customer.customerId, decision),
    });
  }

  /**
   * Processes events: webhooks, replays and caught-up events all come through here. When the promise
   * resolves, the events are stored and the teams are correct, permanently. Idempotent.
   *
   * @throws the errors of the database, QueueFull or DeadlineExceeded; another call can then succeed
   */
  readonly ingest = async (events: readonly LogEvent[]): Promise<readonly IngestResult[]> => {
    const startedAtMs = performance.now();
    const named = await Promise.all(events.map((event) => this.#addProductName(event)));
    return await Promise.all(named.map((event) => this.#ingestOne(event, startedAtMs)));
  };

  /** @throws the errors of the database */
  readonly settle = async (customerId: string, options?: SettleOptions): Promise<boolean> => {
    try {
      return await this.#log.settle(customerId, options);
    } catch (error) {
      this.#storeRefusedPlans(customerId, error);
      throw error;
    } finally {
      this.#failed.delete(customerId);
    }
  };

  /** Whether an event that arrives now can wait for a batch. */
  hasRoom(): boolean {
    return this.#log.queued().ready < this.#options.maxQueued;
  }

  queued(): Queued {
    return this.#log.queued();
  }

  async #addProductName(event: LogEvent): Promise<LogEvent> {
    if (event.kind === 'unreadable') return event;
    const { productId, planName, status } = event.subscription;
    const isNeeded = productId !== null && planName === null && effectOf(status) === 'grants';
    return { productName: isNeeded ? await this.nameOf(productId) : null, ...event };
  }

  async #ingestOne(event: LogEvent, startedAtMs: number): Promise<IngestResult> {
    const customerId = event.kind === 'unreadable' ? '' : event.subscription.customerId;
    try {
      const [result] = await this.#log.ingest([event]);
      if (result === undefined) throw new RangeError('an event has no result');
      const stored = result.outcome === 'parked' ? await this.#readStoredAccount(event) : {};
      this.#report(event, result, performance.now() - startedAtMs, stored);
      return result;
    } catch (error) {
      this.#instrumentation.eventFailed(error);
      this.#storeRefusedPlans(customerId, error);
      throw error;
    } finally {
      this.#failed.delete(customerId);
    }
  }

  /** Stripe sends the event again, or the customer is settled again; until then, the teams that lack its plan are an issue. */
  #storeRefusedPlans(customerId: string, error: unknown): void {
    const failed = this.#failed.get(customerId);
    if (failed === undefined || !canOthersSucceed(error)) return;
    const refusedBy = error instanceof DatabaseRefused ? error.constraint : null;
    const { customer, teams, changedBy } = failed;
    if (error instanceof DatabaseRefused) {
      error.teamIds = customer.teams.map(({ id }) => id);
    }
    const refused = teams.flatMap(({ team, plan }) =>
      plan === null ? [] : { teamId: String(team.id), customerId, plan: team.plan, shouldBe: plan },
    );
    this.#refusedPlans.add(refused, changedBy?.subscription.createdSeconds ?? null, refusedBy);
  }

  /** The account of the event's customer (Accounts v2), if teams have stored it in place of the customer, for the log line. */
  async #readStoredAccount(event: LogEvent): Promise<StoredAccount> {
    const accountId = event.kind === 'unreadable' ? null : event.object.customer_account;
    if (!isId(accountId)) return {};
    const teams = await readTeamsOf(this.#options.database.query, [accountId]).catch(() => []);
    return teams.length === 0 ? {} : { accountId, accountTeamIds: teams.map(({ id }) => id) };
  }

  #report(event: LogEvent, result: IngestResult, tookMs: number, stored: StoredAccount): void {
    const { logger } = this.#options;
    const { outcome, teamIds, keptTeamIds } = result;
    const { eventId, type, source } = event;
    const delayMs = delayOf(event, outcome);
    this.#instrumentation.eventProcessed({ type, outcome, source, delayMs });
    const customerId = event.kind === 'unreadable' ? undefined : event.subscription.customerId;
    const durationMs = Math.round(tookMs);
    const line = { eventId, type, customerId, teamIds, outcome, durationMs };
    if (keptTeamIds.length > 0) {
      logger.warn({ ...line, keptTeamIds }, 'team row kept: the application wrote it');
    }
    if (outcome === 'parked' || (isDeliveredSnapshot(event) && teamIds.length === 0)) {
      logger.error({ ...line, ...stored }, 'team not found');
    } else if (event.kind === 'unreadable') {
      logger.error({ ...line, problem: event.problem }, 'event unreadable');
    } else logger.info(line, 'event');
  }
}

/** The subscription of a notification without an event. Without a team, it is not kept: its team asks Stripe when linked. */
const isDeliveredSnapshot = ({ kind, source }: LogEvent) =>
  kind === 'snapshot' && source === 'delivery';

type StoredAccount = {
  readonly accountId?: string;
  readonly accountTeamIds?: readonly ApplicationId[];
};

/** The time from an event's creation to its first delivery; `null` for anything but a first delivery. */
function delayOf(event: LogEvent, outcome: IngestResult['outcome']): number | null {
  const isFirst = event.source === 'delivery' && outcome !== 'duplicate';
  if (!isFirst || event.kind === 'unreadable') return null;
  return event.receivedAtMs - event.subscription.createdSeconds * 1_000;
}
