// Reads everything from which follows whether all is in sync, and lets issues/ derive what is wrong. The console's
// overview calls it, the doctor, and the metrics.

import type { Database } from 'instep-engine/postgres';
import { ASK_STRIPE_JOB, type Progress, readLeasedJob, readProgress } from 'instep-engine/repair';
import { readFailedJobs } from '../issues/failed-jobs.ts';
import { type Figures, readFigures, readLastOrigins } from '../issues/figures.ts';
import type { Compared, Issue, IssueCounts, ServiceState } from '../issues/issue.ts';
import { byUrgency, ISSUES, SUBJECT_ISSUES, serviceIssues } from '../issues/issues.ts';
import { readRefusals } from '../issues/refusals.ts';
import { countTeams, type TeamCounts } from '../issues/team-counts.ts';
import type { Check, OperateContext, OtherFeatures } from './context.ts';
import { countIssues } from './find-issues.ts';

/** The state of everything that Instep keeps in sync. Times are in milliseconds since 1970. */
export type HealthReport = {
  /** What the issues and the evidence amount to. */
  readonly verdict: Verdict;
  /** What needs attention, the most pressing first. None is no proof: see `verdict`. */
  readonly issues: readonly Issue[];
  /** The issues that operators have dismissed. */
  readonly hidden: number;
  /** How far teams are compared with Stripe. */
  readonly compared: Compared;
  /** `null`: there are too many teams to count them. */
  readonly teams: TeamCounts | null;
  readonly figures: Figures;
  /** The last comparison of all teams with Stripe, finished or not; `null`: there was none. */
  readonly reconciled: Progress | null;
};

/**
 * Checks everything that Instep keeps in sync. It takes a few milliseconds.
 *
 * @example
 * ```ts
 * const { issues, reconciled } = await checkHealth(context);
 * console.log(issues.length, reconciled); // 0 null
 * ```
 */
export async function checkHealth({
  database,
  keyMode,
  otherFeatures,
  now,
}: OperateContext): Promise<HealthReport> {
  return await reportHealth(database, { keyMode, otherFeatures, nowMs: now() });
}

type ReportOptions = Pick<ServiceState, 'keyMode'> & {
  readonly otherFeatures: Pick<OtherFeatures, 'readConsumers' | 'readOtherPolicy'>;
  readonly nowMs: number;
};

/** Reads the state and derives what is wrong. Changes nothing. */
export async function reportHealth(
  database: Pick<Database, 'query' | 'transaction'>,
  { nowMs, otherFeatures, ...known }: ReportOptions,
): Promise<HealthReport> {
  const { query } = database;
  const [
    figures,
    origins,
    otherPolicy,
    reconcile,
    following,
    teams,
    failedJobs,
    refusals,
    consumers,
    counts,
  ] = await Promise.all([
    readFigures(query),
    readLastOrigins(query),
    otherFeatures.readOtherPolicy(query),
    readLeasedJob(query, 'reconcile'),
    readLeasedJob(query, ASK_STRIPE_JOB),
    countTeams({ database }),
    readFailedJobs(query),
    readRefusals(query),
    otherFeatures.readConsumers(query),
    countIssues(query),
  ]);
  const reconciled = readProgress(reconcile?.progress);
  const completed = reconciled?.completed ?? null;
  const compared: Compared = {
    completed,
    intervalMs: reconciled?.intervalMs ?? null,
    teams,
    isFollowing: nowMs - (following?.startedAtMs ?? 0) < FOLLOWING_MS,
  };
  const found = { figures, otherPolicy, origins, compared, failedJobs, refusals, consumers };
  const issues = [
    ...serviceIssues({ ...known, ...found }, nowMs),
    ...subjectIssues(counts, nowMs),
  ].sort(byUrgency);
  const hidden = Object.values(counts).reduce((sum, { hidden }) => sum + hidden, 0);
  const verdict = verdictOf(issues, found);
  return { verdict, issues, hidden, compared, teams, figures, reconciled };
}

/** An event often arrives before its team is linked, so it can be parked for this long. */
const PARKED_LONG_MS = 10 * 60_000;

function subjectIssues(counts: IssueCounts, nowMs: number): Issue[] {
  return SUBJECT_ISSUES.flatMap((code): Issue[] => {
    const { severity, concerns, remedies } = ISSUES[code];
    const { count, isMore, sinceMs } = counts[code];
    const issue = { severity, concerns, remedies, count, isMore };
    if (count === 0) return [];
    if (code !== 'parked-events') return [{ ...issue, code, evidence: {} }];
    const isYoung = sinceMs !== null && nowMs - sinceMs < PARKED_LONG_MS;
    return [{ ...issue, code, severity: isYoung ? 'notice' : severity, evidence: { sinceMs } }];
  });
}

/**
 * `in-sync`: every team was compared with Stripe, recently enough, and Stripe delivers events. `unproven`: nothing is
 * known to be wrong.
 */
export type Verdict = 'in-sync' | 'unproven' | 'warning' | 'failure';

/** What the issues and the evidence amount to. Unknown is never in sync. */
function verdictOf(
  issues: readonly Issue[],
  { compared: { completed, teams }, figures }: Pick<ServiceState, 'compared' | 'figures'>,
): Verdict {
  const severities = new Set(issues.map(({ severity }) => severity));
  if (severities.has('failure')) return 'failure';
  if (severities.has('warning')) return 'warning';
  const isCompared =
    completed !== null && teams !== null && teams.linked > 0 && teams.uncompared === 0;
  return isCompared && figures.lastDeliveredMs !== null ? 'in-sync' : 'unproven';
}

/** The job that compares new teams runs every few seconds, also on demand after each delivery. */
const FOLLOWING_MS = 60_000;

/**
 * Checks what Instep needs besides the database: the configuration, Stripe's API and its webhook endpoints, the clock,
 * the hosts and the schema. It asks Stripe, and takes up to some seconds. The same as `instep doctor`, with its
 * sentences. `null` where the context was opened without a server or handler.
 *
 * @example
 * ```ts
 * for (const { state, name, result } of (await examineInstallation(context)) ?? []) {
 *   if (state !== 'ok') console.log(state, name, result);
 * }
 * ```
 */
export async function examineInstallation({
  examine,
}: Pick<OperateContext, 'examine'>): Promise<Check[] | null> {
  if (examine === undefined) return null;
  const checks: Check[] = [];
  for await (const check of examine()) checks.push(check);
  return checks;
}
