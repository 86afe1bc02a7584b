import { type Run, readRuns as readAllRuns } from '../maintenance/runs.ts';
import {
  type LogStatistics,
  readStatistics as readLogStatistics,
  type StatisticsRequest,
} from '../maintenance/statistics.ts';
import {
  readTeamCounts as readLastTeamCounts,
  type TeamCounts,
} from '../maintenance/team-counts.ts';
import type { OperateContext } from './context.ts';

/**
 * How many events arrived in each time slot, by outcome and by delay of delivery.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, readStatistics } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const sinceMs = Date.parse('2026-11-24T09:00:00Z');
 * const { rows, isComplete } = await readStatistics(context, { slotSeconds: 60, sinceMs });
 * console.log(rows.length, isComplete); // 0 true
 * await handler.close();
 * ```
 */
export async function readStatistics(
  { database }: OperateContext,
  request: StatisticsRequest,
): Promise<LogStatistics> {
  // In a transaction, plans prefer indexes: the planner does not know how few rows are not summed yet.
  return await database.transaction((query) => readLogStatistics(query, request));
}

/**
 * When instances were running, for at most 15 days; the oldest run first.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, readRuns } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * for (const { version, startedAtMs, seenAtMs } of await readRuns(context)) {
 *   console.log(version, new Date(startedAtMs), new Date(seenAtMs));
 * }
 * await handler.close();
 * ```
 */
export async function readRuns({ database }: OperateContext): Promise<Run[]> {
  return await readAllRuns(database.query);
}

/**
 * The number of teams by status, plan, product and issues, as the job `team-counts` last counted them; `null`
 * before its first run.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, readTeamCounts } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * for (const { status, plan, teams } of (await readTeamCounts(context))?.groups ?? []) {
 *   console.log(status, plan, teams);
 * }
 * await handler.close();
 * ```
 */
export async function readTeamCounts({ database }: OperateContext): Promise<TeamCounts | null> {
  return await readLastTeamCounts(database.query);
}
