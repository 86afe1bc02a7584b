// Reads everything from which follows whether all is in sync, and lets health/ derive the issues. The console's
// overview calls it, the doctor, and the metrics.

import type { Database } from 'instep-engine/postgres';
import {
  ASK_STRIPE_JOB,
  type Progress,
  readFailedJobs,
  readLeasedJob,
  readProgress,
} from 'instep-engine/repair';
import { issuesOf, type SyncState, type Verdict, verdictOf } from '../health/derive-issues.ts';
import { type Figures, readFigures, readLastOrigins } from '../health/figures.ts';
import type { Compared, Issue } from '../health/issues.ts';
import { readRefusals } from '../health/refusals.ts';
import type { Check, OperateContext, OtherFeatures } from './context.ts';
import { countOpenIssues } from './find-issues.ts';
import { countTeams, type TeamCounts } from './team-counts.ts';

/** The state of everything that Instep keeps in sync. Times are in milliseconds since 1970. */
export type HealthReport = {
  /** What the issues and the evidence amount to. */
  readonly verdict: Verdict;
  /** What needs attention, the most pressing first. None is no proof: see `verdict`. */
  readonly issues: readonly Issue[];
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

type ReportOptions = Pick<SyncState, 'keyMode'> & {
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
  ]);
  const counts = await countOpenIssues(query, figures);
  const reconciled = readProgress(reconcile?.progress);
  const completed = reconciled?.completed ?? null;
  const compared: Compared = {
    completed,
    intervalMs: reconciled?.intervalMs ?? null,
    teams,
    isFollowing: nowMs - (following?.startedAtMs ?? 0) < FOLLOWING_MS,
  };
  const found = {
    figures,
    counts,
    otherPolicy,
    origins,
    compared,
    failedJobs,
    refusals,
    consumers,
  };
  const issues = issuesOf({ ...known, ...found }, nowMs);
  const verdict = verdictOf(issues, found);
  return { verdict, issues, compared, teams, figures, reconciled };
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
