// What operators do about all teams or a customer's whole log, from a terminal or a back office. Dry runs are not in the audit.

import type { EventRow } from 'instep-engine/log';
import type { ApplicationId } from 'instep-engine/postgres';
import {
  type Counts,
  type Difference,
  limitRate,
  type RebuildFailure,
  type ReconciliationIssue,
  rebuild,
  reconcile,
  reconcileCustomer,
} from 'instep-engine/repair';
import { type Replayed, type ReplayOutcomes, replayEvents } from '../event-log/replay.ts';
import { type RebuildCounts, recorded } from './audit.ts';
import type { OperateContext, Operator } from './context.ts';

export type ReconcileRequest = {
  /** Only the teams of this customer; all by default. */
  readonly customerId?: string | undefined;
  /** Reports drift without repairing it. */
  readonly isDryRun?: boolean;
  readonly onIssue?: (issue: ReconciliationIssue) => void;
  readonly signal?: AbortSignal;
};

/**
 * Compares all teams with Stripe, or those of one customer, and repairs them. It can take hours; only one runs at a time.
 *
 * @throws InstepError: `RECONCILIATION_RUNNING`, `RECONCILIATION_FAILED` or `STRIPE_KEY_FORBIDDEN`
 * @example
 * ```ts
 * export const compare = () => reconcileTeams(context, operator, { isDryRun: true });
 * ```
 */
export async function reconcileTeams(
  context: OperateContext,
  operator: Operator,
  {
    customerId,
    isDryRun = false,
    onIssue = () => undefined,
    signal = NEVER,
  }: ReconcileRequest = {},
): Promise<Counts> {
  const compare = async (services: OperateContext) => {
    const options = { ...services, api: limitRate(services.api), isDryRun, onIssue };
    const counts =
      customerId === undefined
        ? await reconcile(options, signal)
        : await reconcileCustomer(customerId, options, signal);
    const isDone = counts.drifts === counts.repaired;
    return { isDone, result: { code: 'reconciled', ...counts } as const };
  };
  const subject = customerId === undefined ? 'teams:all' : `customer:${customerId}`;
  const about = { operator, action: 'reconcile', subject };
  const { result } = await (isDryRun ? compare(context) : recorded(context, about, compare));
  const { code: _, ...counts } = result;
  return counts;
}

const NEVER = new AbortController().signal;

export type RebuildRequest = {
  /** Only this team; all by default. */
  readonly teamId?: ApplicationId | undefined;
  /** Reports the differences without repairing them. */
  readonly isDryRun?: boolean;
  readonly onDifference?: (difference: Difference) => void;
  /** Is called for a customer whose teams can't be rebuilt now; the others go on. */
  readonly onFailure?: (failure: RebuildFailure) => void;
};

/**
 * Folds the whole event log again, and repairs every team that differs from the result.
 *
 * @example
 * ```ts
 * const { repaired } = await rebuildTeams(context, operator, { isDryRun: true });
 * console.log(repaired); // 0
 * ```
 */
export async function rebuildTeams(
  context: OperateContext,
  operator: Operator,
  { teamId, isDryRun = false, onDifference, onFailure }: RebuildRequest = {},
): Promise<RebuildCounts> {
  const compare = async (services: OperateContext) => {
    const counts = { repaired: 0, failed: 0 };
    const countFailure = (failure: RebuildFailure) => {
      counts.failed += 1;
      onFailure?.(failure);
    };
    const options = { ...services, teamId, isDryRun, onFailure: countFailure };
    for await (const difference of rebuild(services.database, options)) {
      counts.repaired += 1;
      onDifference?.(difference);
    }
    return { isDone: counts.failed === 0, result: { code: 'rebuilt', ...counts } as const };
  };
  const subject = teamId === undefined ? 'teams:all' : `team:${teamId}`;
  const about = { operator, action: 'rebuild', subject };
  const { result } = await (isDryRun ? compare(context) : recorded(context, about, compare));
  const { code: _, ...counts } = result;
  return counts;
}

/**
 * Processes logged events again. What was decided does not change.
 *
 * @example
 * ```ts
 * const unreadable = findEvents(context, { outcome: 'unreadable' }).all();
 * console.log(await replayLog(context, operator, unreadable)); // {}
 * ```
 */
export async function replayLog(
  context: OperateContext,
  operator: Operator,
  events: AsyncIterable<EventRow> | readonly EventRow[],
  onReplayed?: (replayed: Replayed) => unknown,
): Promise<ReplayOutcomes> {
  const [only] = 'length' in events && events.length === 1 ? events : [];
  const subject = only === undefined ? 'events:all' : `event:${only.position}`;
  const about = { operator, action: 'replay', subject };
  const { result } = await recorded(context, about, async ({ ingest, database }) => {
    const outcomes: Partial<Record<Replayed['outcome'], number>> = {};
    for await (const replayed of replayEvents(events, { ingest, query: database.query })) {
      outcomes[replayed.outcome] = (outcomes[replayed.outcome] ?? 0) + 1;
      await onReplayed?.(replayed);
    }
    return {
      isDone: outcomes.failed === undefined,
      result: { code: 'replayed', outcomes } as const,
    };
  });
  return result.outcomes;
}
