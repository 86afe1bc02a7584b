import { GrantRefused, type GrantRequest, setGrant } from '../access/grants.ts';
import { readAccess, type TeamAccess } from '../access/team-access.ts';
import {
  type CompleteCheckoutRequest,
  completeCheckout,
  syncCustomer,
} from '../checkout/checkout.ts';
import type { ApplicationId } from '../core/application.ts';
import { dismissParkedEvents } from '../event-log/dismiss.ts';
import type { EventRow } from '../event-log/event-rows.ts';
import { pruneLog } from '../event-log/prune.ts';
import { type Difference, type RebuildFailure, rebuild } from '../event-log/rebuild.ts';
import { pseudonymsWith, redactEvents } from '../event-log/redact.ts';
import {
  countOutcomes,
  type Replayed,
  type ReplayOutcomes,
  replayEvents,
} from '../event-log/replay.ts';
import { removeConsumer, replayChange } from '../maintenance/consumers.ts';
import type { ReconciliationIssue } from '../maintenance/reconcile/drift.ts';
import type { Counts, Resume, StepProgress } from '../maintenance/reconcile/progress.ts';
import { reconcile, reconcileCustomer } from '../maintenance/reconcile/reconcile.ts';
import { limitRate } from '../maintenance/stripe-calls.ts';
import { type Recorded, type Run, recorded } from './audit.ts';
import { type ActingContext, actingAs, type OperateContext, type Operator } from './context.ts';

/** What `perform` can do. All of it is in the audit, except dry runs. */
export type Task =
  /**
   * Gives a team a plan without a subscription (docs/grants.md), in place of an earlier grant. The team's row gets it
   * while no subscription of its customer grants a plan.
   *
   * Errors: `GRANT_INVALID`, `NOT_FOUND`, or `DATABASE_REFUSED` if the application refuses the plan.
   */
  | ({ readonly action: 'grant'; readonly teamId: ApplicationId } & GrantRequest)
  /** Ends a team's grant now. Errors: `NO_GRANT`, `NOT_FOUND`, `DATABASE_REFUSED`. */
  | { readonly action: 'revoke-grant'; readonly teamId: ApplicationId }
  /** As `completeCheckout` of a handler, with its errors. */
  | ({
      readonly action: 'complete checkout';
      readonly sessionId: string;
    } & CompleteCheckoutRequest)
  /** As `syncCustomer` of a handler, with its errors. */
  | { readonly action: 'sync'; readonly customerId: string }
  /**
   * Compares all teams with Stripe, or those of one customer, and repairs them. It can take hours; only one runs at a
   * time. Errors: `RECONCILIATION_RUNNING`, `RECONCILIATION_FAILED`, `STRIPE_KEY_FORBIDDEN`, `NOTHING_TO_RESUME`.
   */
  | {
      readonly action: 'reconcile';
      /** Only the teams of this customer; all by default. */
      readonly customerId?: string | undefined;
      /** Reports drift without repairing it. */
      readonly isDryRun?: boolean;
      /** Whether to continue an interrupted reconciliation of all teams; `no` by default. */
      readonly resume?: Resume;
      readonly onIssue?: (issue: ReconciliationIssue) => void;
      readonly onProgress?: (progress: StepProgress) => void;
      readonly signal?: AbortSignal;
    }
  /** Replays the whole event log, and repairs every team that differs from the result. */
  | {
      readonly action: 'rebuild';
      /** Only this team; all by default. */
      readonly teamId?: ApplicationId | undefined;
      /** Reports the differences without repairing them. */
      readonly isDryRun?: boolean;
      readonly onDifference?: (difference: Difference) => void;
      /** Is called for a customer whose teams can't be rebuilt now, and the others go on; otherwise it throws. */
      readonly onFailure?: (failure: RebuildFailure) => void;
    }
  /** Processes logged events again, in this order. What was decided does not change. */
  | {
      readonly action: 'replay';
      readonly events: AsyncIterable<EventRow> | readonly EventRow[];
      readonly onReplayed?: (replayed: Replayed) => unknown;
    }
  /**
   * Dismisses parked events whose customer has no team, until the signal is aborted: they no longer raise alerts. Those
   * of customers that never had a team are deleted 30 days later.
   */
  | {
      readonly action: 'dismiss';
      /** Only those of this customer; all by default. */
      readonly customerId?: string | undefined;
      /** Only those that were received before this time, in milliseconds since 1970. */
      readonly receivedBeforeMs?: number | undefined;
      readonly signal?: AbortSignal;
    }
  /** Deletes events that were received before a time and that are no longer needed, until the signal is aborted. */
  | { readonly action: 'prune'; readonly receivedBeforeMs: number; readonly signal?: AbortSignal }
  /** Replaces personal data in a customer's logged events with pseudonyms that nobody can resolve. */
  | { readonly action: 'redact'; readonly customerId: string }
  /** Forgets a consumer of changes of plans, and what waits for it. Error: `CONSUMER_UNKNOWN`. */
  | { readonly action: 'remove-consumer'; readonly consumer: string }
  /**
   * Passes a change that was set aside to its consumer again. Later changes of the same team have been passed already.
   * Errors: `CONSUMER_UNKNOWN`, or `CHANGE_UNKNOWN` if no change with this id was set aside.
   */
  | {
      readonly action: 'replay-change';
      readonly consumer: string;
      readonly changeId: number;
    };

/** What `perform` resolves with, by action. */
export type TaskResults = {
  /** The team's access after it. */
  readonly grant: TeamAccess;
  readonly 'revoke-grant': TeamAccess;
  readonly 'complete checkout': TeamAccess;
  readonly sync: TeamAccess;
  readonly reconcile: Counts;
  /** The number of differences and of customers whose teams could not be rebuilt. */
  readonly rebuild: Readonly<Record<'repaired' | 'kept' | 'failed', number>>;
  readonly replay: ReplayOutcomes;
  /** The number of events. */
  readonly dismiss: number;
  readonly prune: number;
  readonly redact: number;
  /** The last change that the consumer had acknowledged. */
  readonly 'remove-consumer': number;
  readonly 'replay-change': null;
};

type TaskOf<Action extends Task['action']> = Extract<Task, { readonly action: Action }>;

/** What the audit gets, and the call itself. Without a subject, the audit gets nothing. */
type Call<Result> = Omit<Recorded<Result>, 'action' | 'subject'> & {
  readonly subject: string | null;
  readonly run: Run<Result>;
};

/**
 * Does something about a single team or customer, or about the whole event log, and resolves with its result. The audit
 * keeps who did it: before it begins, and with its result.
 *
 * @throws InstepError, with the codes that `Task` names; errors of the database if the audit can't be written: before it
 * begins, nothing is done then
 * @example
 * ```ts
 * import { openContext, perform } from 'instep/operate';
 *
 * const context = await openContext();
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const receivedBeforeMs = Date.parse('2026-01-01T00:00:00Z');
 * console.log(await perform(context, operator, { action: 'prune', receivedBeforeMs })); // 0
 * const grant = { action: 'grant', teamId: 1, planName: 'Partner', reason: 'a friend' } as const;
 * console.log(await perform(context, operator, grant).catch(({ code }) => code)); // NOT_FOUND
 * await context.close();
 * ```
 */
export async function perform<Action extends Task['action']>(
  context: OperateContext,
  operator: Operator,
  task: TaskOf<Action> & { readonly action: Action },
): Promise<TaskResults[Action]> {
  const { action } = task;
  const { subject, run, ...others } = CALLS[action](actingAs(context, operator), task);
  if (subject === null) return await run((work) => context.database.transaction(work));
  return await recorded(context, operator, { action, subject, ...others }, run);
}

const CALLS: {
  readonly [Action in Task['action']]: (
    context: ActingContext,
    task: TaskOf<Action>,
  ) => Call<TaskResults[Action]>;
} = {
  grant: (context, { teamId, ...request }) => ({
    subject: `team:${teamId}`,
    note: request.reason,
    run: changeGrant(context, teamId, request),
    resultOf: () => ({ code: 'granted', teamId, planName: request.planName }),
  }),
  'revoke-grant': (context, { teamId }) => ({
    subject: `team:${teamId}`,
    run: changeGrant(context, teamId, null),
    resultOf: () => ({ code: 'grant-revoked', teamId }),
  }),
  'complete checkout': (context, { sessionId, teamId }) => ({
    subject: `team:${typeof teamId === 'function' ? 'unknown' : teamId}`,
    run: () => completeCheckout(context, sessionId, { teamId }),
    resultOf: (access) => ({ code: 'synced', teamId: access.teamId }),
  }),
  sync: (context, { customerId }) => ({
    subject: `customer:${customerId}`,
    run: () => syncCustomer(context, customerId),
    resultOf: ({ teamId }) => ({ code: 'synced', teamId }),
  }),
  reconcile(context, { customerId, resume = 'no', isDryRun = false, signal: given, ...task }) {
    const { onIssue = () => undefined, onProgress } = task;
    const api = limitRate(context.api, context.database.query);
    const services = { ...context, api, isDryRun, onIssue, ...(onProgress && { onProgress }) };
    const signal = given ?? new AbortController().signal;
    const subject = customerId === undefined ? 'teams:all' : `customer:${customerId}`;
    return {
      subject: isDryRun ? null : subject,
      run: () =>
        customerId === undefined
          ? reconcile({ ...services, resume }, signal)
          : reconcileCustomer(customerId, services, signal),
      resultOf: (counts) => ({ code: 'reconciled', ...counts }),
      isDone: ({ drifts, repaired }) => drifts === repaired,
    };
  },
  rebuild(context, { teamId, isDryRun = false, onDifference, onFailure }) {
    const { database, planSelection, operator } = context;
    const counts = { repaired: 0, kept: 0, failed: 0 };
    const countFailure = (failure: RebuildFailure) => {
      counts.failed += 1;
      onFailure?.(failure);
    };
    const reason = { cause: 'rebuild', operator } as const;
    const options = { planSelection, teamId, isDryRun, reason };
    const failing = onFailure === undefined ? {} : { onFailure: countFailure };
    const subject = teamId === undefined ? 'teams:all' : `team:${teamId}`;
    return {
      subject: isDryRun ? null : subject,
      run: async () => {
        for await (const difference of rebuild(database, { ...options, ...failing })) {
          counts[difference.isKept ? 'kept' : 'repaired'] += 1;
          onDifference?.(difference);
        }
        return counts;
      },
      resultOf: () => ({ code: 'rebuilt', ...counts }),
      isDone: ({ failed }) => failed === 0,
    };
  },
  replay({ ingest, database: { query } }, { events, onReplayed }) {
    const [only, other] = Array.isArray(events) ? events : [];
    const isOne = only !== undefined && other === undefined;
    return {
      subject: isOne ? `event:${only.position}` : 'events:all',
      run: () => countOutcomes(replayEvents(events, { ingest, query }), onReplayed),
      resultOf: (outcomes) => ({ code: 'replayed', outcomes }),
      isDone: ({ failed }) => failed === undefined,
    };
  },
  dismiss: ({ database }, { customerId, receivedBeforeMs, signal }) => ({
    subject: customerId === undefined ? 'events:all' : `customer:${customerId}`,
    run: () => dismissParkedEvents(database.query, { customerId, receivedBeforeMs }, signal),
    resultOf: (parkedEvents) => ({ code: 'dismissed', parkedEvents }),
  }),
  prune: ({ database: { query } }, { receivedBeforeMs, signal }) => ({
    subject: 'events:all',
    run: () => pruneLog({ query, cutoffMs: receivedBeforeMs }, signal),
    resultOf: (events) => ({ code: 'pruned', events, receivedBeforeMs }),
    isDone: () => signal?.aborted !== true,
  }),
  redact: ({ nonce }, { customerId }) => ({
    subject: `customer:${customerId}`,
    // The key is discarded afterward.
    run: (inTransaction) => {
      const pseudonymOf = pseudonymsWith(nonce());
      return inTransaction((query) => redactEvents(query, customerId, pseudonymOf));
    },
    resultOf: (events) => ({ code: 'redacted', events }),
  }),
  'remove-consumer': (_, { consumer }) => ({
    subject: `consumer:${consumer}`,
    run: (inTransaction) => inTransaction((query) => removeConsumer(query, consumer)),
    resultOf: (position) => ({ code: 'consumer-removed', position }),
  }),
  'replay-change': (_, { consumer, changeId }) => ({
    subject: `consumer:${consumer}`,
    run: (inTransaction) =>
      inTransaction((query) => replayChange(query, consumer, changeId).then(() => null)),
    resultOf: () => ({ code: 'change-replayed', changeId }),
  }),
};

/** Gives a team a plan, or ends its grant (`null`), and returns the team's access after it. */
function changeGrant(
  context: ActingContext,
  teamId: ApplicationId,
  request: GrantRequest | null,
): Run<TeamAccess> {
  return (inTransaction) =>
    inTransaction(async (query) => {
      await setGrant(query, teamId, request, context);
      const access = await readAccess(query, teamId);
      if (access === null) throw new GrantRefused('NOT_FOUND', 'the team has just been deleted');
      return access;
    });
}
