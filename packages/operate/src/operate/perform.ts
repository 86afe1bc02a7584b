// Performs what operators, apps and commands do, and records it in the audit.

import type { EventRow, Ingest, Settle } from 'instep-engine/log';
import type { ApplicationId, Query } from 'instep-engine/postgres';
import {
  type Difference,
  limitRate,
  pseudonymsWith,
  type RebuildFailure,
  type ReconciliationIssue,
  rebuild,
  reconcile,
  reconcileCustomer,
  redactEvents,
} from 'instep-engine/repair';
import type { InstepError } from 'instep-engine/runtime';
import { countOutcomes, type Replayed, replayEvents } from '../event-log/replay.ts';
import { subjectText } from '../teams/subject.ts';
import { type ActionContext, type ActionRequest, act, type PerformOptions } from './actions.ts';
import {
  type ActionResult,
  beginActions,
  concluded,
  done,
  type OperatorAction,
  type Outcome,
  recordResult,
} from './audit.ts';
import type { CompleteCheckoutRequest, OperateContext, Operator } from './context.ts';

/** What an operator can do about many teams or events, or with what Stripe has. Dry runs are not in the audit. */
export type Task =
  /** As `completeCheckout` of a handler, with its errors. */
  | ({
      readonly action: 'complete-checkout';
      readonly sessionId: string;
    } & CompleteCheckoutRequest)
  /** As `syncCustomer` of a handler, with its errors. */
  | { readonly action: 'sync'; readonly customerId: string }
  /**
   * Compares all teams with Stripe, or those of one customer, and repairs them. It can take hours; only one runs at a
   * time. Errors: `RECONCILIATION_RUNNING`, `RECONCILIATION_FAILED`, `STRIPE_KEY_FORBIDDEN`.
   */
  | {
      readonly action: 'reconcile';
      /** Only the teams of this customer; all by default. */
      readonly customerId?: string | undefined;
      /** Reports drift without repairing it. */
      readonly isDryRun?: boolean;
      /** Whether to continue a reconciliation of all teams that was interrupted within the last 24 hours; not by default. */
      readonly canResume?: boolean;
      readonly onIssue?: (issue: ReconciliationIssue) => void;
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

/** How many actions are on their way together: few enough for Stripe to answer for all before the deadline of one. */
const AT_ONCE = 10;

/** What was done about one subject. */
export type PerformedAction = OperatorAction & {
  /** What ended it, if its result is `failed`. */
  readonly error?: InstepError;
};

export type Performed = {
  /** `findActions` finds the results under this id. */
  readonly callId: string;
  readonly results: readonly PerformedAction[];
};

/**
 * Performs actions, and records them in the audit: before they begin, and with their results. What fails becomes the
 * result of its request, so that the others are still processed, up to 10 of them together.
 *
 * @throws the errors of the database if the audit can't be written: before they begin, nothing is done then
 * @example
 * ```ts
 * import { openContext, perform } from 'instep/operate';
 *
 * const context = await openContext();
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const subject = { kind: 'customer', id: 'cus_123' } as const;
 * const { results } = await perform(context, operator, [
 *   { action: 'link', subject, linkTo: '9', expectedCustomerId: null },
 *   { action: 'dismiss', subject },
 * ]);
 * console.log(results.map(({ result }) => result.code).join()); // no-such-team,dismissed
 * await context.close();
 * ```
 */
export async function perform(
  context: OperateContext,
  operator: Operator,
  requests: readonly (ActionRequest | Task)[],
  options: PerformOptions = {},
): Promise<Performed> {
  const { note = null, until = null } = options;
  const { database, logger } = context;
  const callId = context.nonce();
  const named = requests.map((request) => {
    const about = { action: request.action, subject: subjectOf(request) };
    return { request, about, isRecorded: !('isDryRun' in request && request.isDryRun) };
  });
  const recorded = named.flatMap(({ about, isRecorded }) => (isRecorded ? [about] : []));
  const ids = await beginActions(database.query, { callId, operator, note, until }, recorded);
  const begun = named.map(({ isRecorded, ...others }) => ({
    ...others,
    actionId: isRecorded ? (ids.shift() ?? null) : null,
  }));
  const conclude = async ({
    request,
    about,
    actionId,
  }: (typeof begun)[number]): Promise<PerformedAction> => {
    const by = { name: operator.name, actionId };
    const record = async (query: Query, outcome: Outcome) => {
      if (actionId !== null) await recordResult(query, actionId, outcome);
    };
    const ingest: Ingest = (events) =>
      context.ingest(events.map((event) => ({ ...event, operator: by })));
    const settle: Settle = (customerId) => context.settle(customerId, by);
    const outcome = await concluded(database, record, (inTransaction) => {
      const acting = { ...context, ingest, settle, operator: by, inTransaction };
      return 'subject' in request ? act(request, acting, options) : runTask(request, acting);
    });
    // A command prints it, and so does the caller of a task.
    const isShown = operator.how === 'command' || !('subject' in request);
    if (outcome.error && !isShown) logger.warn({ err: outcome.error, ...about }, 'action failed');
    return { ...about, ...outcome };
  };
  const results: PerformedAction[] = [];
  while (results.length < begun.length) {
    const batch = begun.slice(results.length, results.length + AT_ONCE).map(conclude);
    // None goes on after the call has ended.
    await Promise.allSettled(batch);
    results.push(...(await Promise.all(batch)));
  }
  return { callId, results };
}

/** What the audit calls the subject of a request: what it is limited to, or else all teams or all events. */
function subjectOf(request: ActionRequest | Task): string {
  if ('subject' in request) return subjectText(request.subject);
  if ('consumer' in request) return `consumer:${request.consumer}`;
  if ('customerId' in request && request.customerId !== undefined) {
    return `customer:${request.customerId}`;
  }
  if ('teamId' in request && request.teamId !== undefined) {
    return `team:${typeof request.teamId === 'function' ? 'unknown' : request.teamId}`;
  }
  if ('events' in request && 'length' in request.events && request.events.length === 1) {
    return `event:${request.events[0]?.position}`;
  }
  return request.action === 'reconcile' || request.action === 'rebuild'
    ? 'teams:all'
    : 'events:all';
}

async function runTask(task: Task, context: ActionContext): Promise<Outcome> {
  const { ingest, database, nonce, inTransaction, otherFeatures } = context;
  const { query } = database;
  switch (task.action) {
    case 'complete-checkout':
      return synced(await otherFeatures.completeCheckout(context, task.sessionId, task));
    case 'sync':
      return synced(await otherFeatures.syncCustomer(context, task.customerId));
    case 'reconcile':
      return await reconcileFor(task, context);
    case 'rebuild':
      return await rebuildFor(task, context);
    case 'replay': {
      const replayed = replayEvents(task.events, { ingest, query });
      const outcomes = await countOutcomes(replayed, task.onReplayed);
      return { isDone: outcomes.failed === undefined, result: { code: 'replayed', outcomes } };
    }
    case 'redact': {
      // The key is discarded afterward.
      const pseudonymOf = pseudonymsWith(nonce());
      return await inTransaction(async (query) => {
        const events = await redactEvents(query, task.customerId, pseudonymOf);
        return done({ code: 'redacted', events });
      });
    }
    case 'remove-consumer':
      return await inTransaction(async (query) => {
        const position = await otherFeatures.removeConsumer(query, task.consumer);
        return done({ code: 'consumer-removed', position });
      });
    case 'replay-change':
      return await inTransaction(async (query) => {
        const { consumer, changeId } = task;
        await otherFeatures.replayChange(query, consumer, changeId);
        return done({ code: 'change-replayed', changeId });
      });
  }
}

const synced = ({ teamId }: { readonly teamId: ApplicationId }) => done({ code: 'synced', teamId });

type TaskOf<Name extends Task['action']> = Extract<Task, { readonly action: Name }>;

async function reconcileFor(task: TaskOf<'reconcile'>, context: ActionContext): Promise<Outcome> {
  const { customerId, canResume = false, isDryRun = false, onIssue = () => undefined } = task;
  const { signal = new AbortController().signal } = task;
  const api = limitRate(context.api);
  const services = { ...context, api, isDryRun, onIssue };
  const counts =
    customerId === undefined
      ? await reconcile({ ...services, canResume }, signal)
      : await reconcileCustomer(customerId, services, signal);
  return { isDone: counts.drifts === counts.repaired, result: { code: 'reconciled', ...counts } };
}

async function rebuildFor(
  { teamId, isDryRun = false, onDifference, onFailure }: TaskOf<'rebuild'>,
  { database, planSelection, settle, operator }: ActionContext,
): Promise<Outcome> {
  const counts = { repaired: 0, kept: 0, failed: 0 };
  const countFailure = (failure: RebuildFailure) => {
    counts.failed += 1;
    onFailure?.(failure);
  };
  const options = { planSelection, settle, teamId, isDryRun, operator };
  const failing = onFailure === undefined ? {} : { onFailure: countFailure };
  for await (const difference of rebuild(database, { ...options, ...failing })) {
    counts[difference.isKept ? 'kept' : 'repaired'] += 1;
    onDifference?.(difference);
  }
  return { isDone: counts.failed === 0, result: { code: 'rebuilt', ...counts } };
}

export type ResultOf<Code extends ActionResult['code']> = Extract<
  ActionResult,
  { readonly code: Code }
>;

/** Performs a single action. @throws what ended it */
export async function performOne(
  context: OperateContext,
  operator: Operator,
  request: ActionRequest | Task,
): Promise<ActionResult> {
  const [performed] = (await perform(context, operator, [request])).results;
  if (performed === undefined) throw new RangeError(`${request.action} has no result`);
  if (performed.error !== undefined) throw performed.error;
  return performed.result;
}

/** Performs a single action that has no other result. @throws what ended it */
export async function performExpecting<Code extends ActionResult['code']>(
  context: OperateContext,
  operator: Operator,
  request: ActionRequest | Task,
  expected: Code,
): Promise<ResultOf<Code>> {
  const performed = await performOne(context, operator, request);
  const isExpected = (result: ActionResult): result is ResultOf<Code> => result.code === expected;
  if (isExpected(performed)) return performed;
  throw new RangeError(`${request.action} has no result ${performed.code}`);
}
