import type { ApplicationId } from '../core/application.ts';
import { dismissParkedEvents, type ParkedFilter } from '../event-log/dismiss.ts';
import type { EventRow } from '../event-log/event-rows.ts';
import { pruneLog } from '../event-log/prune.ts';
import { type Difference, type RebuildFailure, rebuild } from '../event-log/rebuild.ts';
import { pseudonymsWith, redactEvents as redact } from '../event-log/redact.ts';
import { type Replayed, replayEvents as replay } from '../event-log/replay.ts';
import { beginActions, recordActions, recorded } from './audit.ts';
import { actingAs, type OperateContext, type Operator } from './context.ts';

/**
 * Processes logged events again, in this order, and yields what became of each. What was decided does not change.
 *
 * @throws the errors of the database, except those that one event causes
 * @example
 * ```ts
 * const unreadable = exportEvents(context, { outcome: 'unreadable' }, 'oldest first');
 * for await (const { event, outcome } of replayEvents(context, operator, unreadable)) {
 *   console.log(event.position, outcome);
 * }
 * ```
 */
export async function* replayEvents(
  context: OperateContext,
  operator: Operator,
  events: AsyncIterable<EventRow> | readonly EventRow[],
): AsyncGenerator<Replayed> {
  const outcomes: Partial<Record<Replayed['outcome'], number>> = {};
  const { ingest } = actingAs(context, operator);
  const { query } = context.database;
  const [only, other] = Array.isArray(events) ? events : [];
  const isOne = only !== undefined && other === undefined;
  const subject = isOne ? `event:${only.position}` : 'events:all';
  const action = { subject, action: 'replay' } as const;
  const form = await beginActions(query, formOf(context, operator), [action]);
  try {
    for await (const replayed of replay(events, { ingest, query })) {
      outcomes[replayed.outcome] = (outcomes[replayed.outcome] ?? 0) + 1;
      yield replayed;
    }
  } finally {
    const isDone = outcomes.failed === undefined;
    const result = { code: 'replayed', outcomes } as const;
    await recordActions(query, form, [{ ...action, isDone, result }]);
  }
}

const formOf = ({ nonce }: OperateContext, operator: Operator) =>
  ({ formId: nonce(), operator, note: null }) as const;

/** Which parked events to dismiss: all that match every given member. */
export type DismissRequest = Pick<ParkedFilter, 'customerId' | 'receivedBeforeMs'>;

/**
 * Dismisses parked events whose customer has no team, until the signal is aborted, and returns how many: they no
 * longer raise alerts. Those of customers that never had a team are deleted.
 *
 * @example
 * ```ts
 * const receivedBeforeMs = Date.parse('2026-01-01T00:00:00Z');
 * const signal = AbortSignal.timeout(60_000);
 * console.log(await dismissEvents(context, operator, { receivedBeforeMs }, signal)); // 0
 * ```
 */
export async function dismissEvents(
  context: OperateContext,
  operator: Operator,
  { customerId, receivedBeforeMs }: DismissRequest,
  signal: AbortSignal,
): Promise<number> {
  const filter = { customerId, receivedBeforeMs };
  const action = {
    action: 'dismiss',
    subject: customerId === undefined ? 'events:all' : `customer:${customerId}`,
    resultOf: (parkedEvents: number) => ({ code: 'dismissed', parkedEvents }) as const,
  } as const;
  return await recorded(context, operator, action, () =>
    dismissParkedEvents(context.database.query, filter, signal),
  );
}

/**
 * Deletes the events that were received before a time and that are no longer needed, until the signal is aborted,
 * and returns how many. It changes no team.
 *
 * @example
 * ```ts
 * const receivedBeforeMs = Date.parse('2026-01-01T00:00:00Z');
 * const signal = AbortSignal.timeout(60_000);
 * console.log(await pruneEvents(context, operator, receivedBeforeMs, signal)); // 0
 * ```
 */
export async function pruneEvents(
  context: OperateContext,
  operator: Operator,
  receivedBeforeMs: number,
  signal: AbortSignal,
): Promise<number> {
  const { query } = context.database;
  const action = {
    action: 'prune',
    subject: 'events:all',
    resultOf: (events: number) => ({ code: 'pruned', events, receivedBeforeMs }) as const,
    isDone: () => !signal.aborted,
  } as const;
  return await recorded(context, operator, action, () =>
    pruneLog({ query, cutoffMs: receivedBeforeMs }, signal),
  );
}

/**
 * Replaces personal data in a customer's logged events with pseudonyms that nobody can resolve, and returns the
 * number of events. It changes no team.
 *
 * @example
 * ```ts
 * console.log(await redactEvents(context, operator, 'cus_123')); // 0
 * ```
 */
export async function redactEvents(
  context: OperateContext,
  operator: Operator,
  customerId: string,
): Promise<number> {
  // The key is discarded afterward.
  const pseudonymOf = pseudonymsWith(context.nonce());
  const action = {
    action: 'redact',
    subject: `customer:${customerId}`,
    resultOf: (events: number) => ({ code: 'redacted', events }) as const,
  } as const;
  return await recorded(context, operator, action, () =>
    redact(context.database.query, customerId, pseudonymOf),
  );
}

export type RebuildRequest = {
  /** Only this team; all by default. */
  readonly teamId?: ApplicationId | undefined;
  /** Yields the differences without repairing them. */
  readonly isDryRun?: boolean;
  /** Is called for a customer whose teams can't be rebuilt now, and the others go on; otherwise it throws. */
  readonly onFailure?: (failure: RebuildFailure) => void;
};

/**
 * Replays the whole event log, and yields and repairs every team that differs from the result.
 *
 * @example
 * ```ts
 * const differences = rebuildTeams(context, operator, { isDryRun: true });
 * for await (const { teamId, is, shouldBe } of differences) {
 *   console.log(teamId, is.planName, shouldBe.planName);
 * }
 * ```
 */
export async function* rebuildTeams(
  context: OperateContext,
  operator: Operator,
  { teamId, isDryRun = false, onFailure }: RebuildRequest = {},
): AsyncGenerator<Difference> {
  const { database, planSelection } = context;
  const counts = { repaired: 0, kept: 0, failed: 0 };
  const countFailure = (failure: RebuildFailure) => {
    counts.failed += 1;
    onFailure?.(failure);
  };
  const reason = { cause: 'rebuild', operator: operator.name } as const;
  const options = { planSelection, teamId, isDryRun, reason };
  const failing = onFailure === undefined ? {} : { onFailure: countFailure };
  const subject = teamId === undefined ? 'teams:all' : `team:${teamId}`;
  const action = { subject, action: 'rebuild' } as const;
  const given = formOf(context, operator);
  const form = isDryRun ? null : await beginActions(database.query, given, [action]);
  try {
    for await (const difference of rebuild(database, { ...options, ...failing })) {
      counts[difference.isKept ? 'kept' : 'repaired'] += 1;
      yield difference;
    }
  } finally {
    if (form !== null) {
      const result = { code: 'rebuilt', ...counts } as const;
      const isDone = counts.failed === 0;
      await recordActions(database.query, form, [{ ...action, isDone, result }]);
    }
  }
}
